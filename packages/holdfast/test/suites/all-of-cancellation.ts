/** Several locks that are not granted in the end: the locks granted so far are released. */
import { paced } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Holdfast, MultiLease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { failure, freshKeys, later, queued, unused } from './helpers.js';

/** An acquisition that waits for the second of three keys, and holds the first. */
interface Blocked {
  readonly one: Holdfast;
  readonly other: Holdfast;
  readonly keys: [string, string, string];
  readonly waiting: Promise<MultiLease>;
  readonly stop: AbortController;
  /** Releases the second key, and expects that no other lease remains. */
  readonly end: () => Promise<void>;
}

async function blocked(
  backend: Backend,
  { wait = Number.POSITIVE_INFINITY, ttl = 10_000 } = {},
): Promise<Blocked> {
  const [one, other] = [await backend.make({ ttl }), await backend.make()];
  const keys = freshKeys(3) as [string, string, string];
  const single = await other.mutex(keys[1]).acquire();
  const stop = new AbortController();
  const waiting = later(one.allOf(keys).acquire({ signal: stop.signal, wait }));
  if (wait > 1000) await queued(other, keys[1], 1);
  const end = async (): Promise<void> => {
    await unused(other, keys[0]);
    await unused(other, keys[2]);
    await queued(other, keys[1], 0);
    expect(await single.release()).toBe('freed');
  };
  return { one, other, keys, waiting, stop, end };
}

export function allOfCancellation(backend: Backend): void {
  stopped(backend);
  failing(backend);
}

function stopped(backend: Backend): void {
  it('reports which key it waited for when the wait limit passes', async () => {
    const { waiting, keys, end } = await blocked(backend, { wait: 40 });
    const error = await failure(waiting, 'HOLDFAST_TIMEOUT');
    expect(error.key).toBe(keys[1]);
    expect(error.message).toContain('3 keys were not granted within 40 ms');
    await end();
  });

  it('releases the granted locks when the caller aborts', async () => {
    const { waiting, stop, end } = await blocked(backend);
    stop.abort('enough');
    expect((await failure(waiting, 'HOLDFAST_ABORTED')).cause).toBe('enough');
    await end();
  });

  it('sends no request when the caller has aborted before', async () => {
    const holdfast = await backend.make();
    const keys = freshKeys(2);
    const asking = holdfast.allOf(keys).acquire({ signal: AbortSignal.abort('before') });
    expect((await failure(asking, 'HOLDFAST_ABORTED')).cause).toBe('before');
    for (const key of keys) expect(await holdfast.inspect(key)).toBeNull();
  });
}

function failing(backend: Backend): void {
  it('rejects when a lease that it holds already is lost', async () => {
    // the instance learns of the loss at its next renewal
    const { other, keys, waiting, end } = await blocked(backend, { ttl: paced(600) });
    expect((await other.forceRelease(keys[0])).ended).toBe(1);
    const error = await failure(waiting, 'HOLDFAST_LOST');
    expect(error.key).toBe(keys[0]);
    await end();
  });

  it('rejects when a lease without renewal expires before the last grant', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const keys = freshKeys(2) as [string, string];
    await using single = await other.mutex(keys[1]).acquire();
    const asking = one.allOf(keys).acquire({ ttl: paced(100), renew: false });
    const error = await failure(asking, 'HOLDFAST_LOST');
    expect(error.key).toBe(keys[0]);
    await unused(other, keys[0]);
    expect(single.held).toBe(true);
  });

  it('rejects when the instance closes', async () => {
    const { one, waiting, end } = await blocked(backend);
    await one.close({ grace: 0 });
    // the acquisition ends as closed, unless the loss of the first lease is found earlier
    const error = await waiting.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: expect.stringMatching(/HOLDFAST_(CLOSED|LOST)/) });
    await end();
  });

  it('rejects when the queue of one key is full', async () => {
    const { other, keys, stop, waiting, end } = await blocked(backend);
    const narrow = await backend.make({ maxQueue: 1 });
    const error = await failure(narrow.allOf(keys.slice(1)).acquire(), 'HOLDFAST_REFUSED');
    expect(error.key).toBe(keys[1]);
    await unused(other, keys[2]);
    stop.abort();
    await failure(waiting, 'HOLDFAST_ABORTED');
    await end();
  });
}
