/** A client that the user has put into a transaction: the error reports it, and no lock is held. */
import { afterEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { CLIENTS, Made, openClient, serverOf, stopServersAfterwards } from '../support/backends.js';
import { failure, freshKey, unused } from '../suites/helpers.js';

const made = new Made();
afterEach(() => made.close());

/** Sends a raw command through the user's client. */
function send(client: object, word: string): Promise<unknown> {
  const { call, sendCommand } = client as {
    call?: (word: string) => Promise<unknown>;
    sendCommand: (words: string[]) => Promise<unknown>;
  };
  return call === undefined
    ? Reflect.apply(sendCommand, client, [[word]])
    : Reflect.apply(call, client, [word]);
}

describe.each(CLIENTS)('%s', (client) => {
  it('refuses to work inside MULTI, and leaves no key after EXEC', async () => {
    const server = await serverOf('redis');
    const opened = await openClient(client, server);
    const holdfast = made.add(new Holdfast(opened.client));
    const other = await made.on(openClient(client, server));
    const key = freshKey();
    await send(opened.client, 'MULTI');
    const error = await failure(holdfast.mutex(key).acquire({ wait: 5000 }), 'HOLDFAST_REFUSED');
    expect(error.message).toContain('MULTI');
    await send(opened.client, 'EXEC').catch(() => undefined);
    await unused(other, key);
    expect((await holdfast.mutex(key).tryAcquire())?.held).toBe(true);
    await made.close();
    await opened.close();
  });

  it('shows nothing inside MULTI, and says why', async () => {
    const opened = await openClient(client, await serverOf('redis'));
    const holdfast = made.add(new Holdfast(opened.client));
    await send(opened.client, 'MULTI');
    const error = await failure(holdfast.list().next(), 'HOLDFAST_REFUSED');
    expect(error.message).toContain('MULTI');
    const { findings } = await holdfast.doctor();
    expect(findings).toMatchObject([{ code: 'unreachable', severity: 'danger' }]);
    expect(findings[0]?.evidence).toContain('MULTI');
    await send(opened.client, 'DISCARD');
    await made.close();
    await opened.close();
  });
});

stopServersAfterwards();
