/**
 * A blocking command of the program on the client of Holdfast: no reply comes, leases are lost, and
 * the errors and a warning say why.
 */
import { paced, type Server, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Holdfast, type HoldfastWarning } from '../../src/index.js';
import { aborted, failure, freshKey } from '../suites/helpers.js';

const OPTIONS = { ttl: paced(600), requestTimeout: paced(300), unreachableAfter: paced(600) };

/** Longer than a lease and a request. */
const BLOCKED = paced(3000);

let server: Server;
beforeAll(async () => {
  server = await startServer({ server: 'redis' });
});
afterAll(() => server.stop());

const open5 = ({ port, host }: Server): Redis => new Redis5(port, host) as unknown as Redis;

describe.each([
  ['ioredis 6', ({ port, host }: Server): Redis => new Redis(port, host)],
  ['ioredis 5', open5],
])('%s', (_, open) => {
  const blocking: [string, (client: Redis) => Promise<unknown>][] = [
    ['BLPOP', (client) => client.blpop('nothing', BLOCKED / 1000)],
    ['XREAD', (client) => client.xread('BLOCK', BLOCKED, 'STREAMS', 'nothing', '$')],
    ['WAIT', (client) => client.wait(3, BLOCKED)],
  ];

  const named = '%s is named by the loss, the errors and one warning';
  it.concurrent.each(blocking)(named, async (name, block) => {
    const client = open(server);
    const warnings: HoldfastWarning[] = [];
    const onWarning = (warning: HoldfastWarning): void => void warnings.push(warning);
    const holdfast = new Holdfast(client, { ...OPTIONS, onWarning });
    const lease = await holdfast.mutex(freshKey()).acquire();
    const blocked = block(client);
    const lost = await aborted(lease.signal);
    expect(lost.code).toBe('HOLDFAST_LOST');
    expect(lost.message).toContain(`the client waits for the reply to ${name}, give Holdfast`);
    const { message } = await failure(holdfast.mutex('k').tryAcquire(), 'HOLDFAST_UNREACHABLE');
    expect(message).toContain(`the reply to ${name}`);
    const blames = (): HoldfastWarning[] =>
      // on a busy machine a renewal may be late, too
      warnings.filter(({ code }) => code !== 'HOLDFAST_LATE_RENEWAL');
    await until(() => blames().length > 0);
    expect(blames()).toMatchObject([{ code: 'HOLDFAST_BLOCKED_CLIENT', key: undefined }]);
    expect(blames()[0]?.message).toContain(name);
    await blocked;
    await holdfast.close({ grace: 0 });
    client.disconnect();
  });

  it('is not blamed for a server that does not answer', async () => {
    const client = open(server);
    const warnings: HoldfastWarning[] = [];
    const onWarning = (warning: HoldfastWarning): void => void warnings.push(warning);
    const holdfast = new Holdfast(client, { ...OPTIONS, onWarning });
    await (await holdfast.mutex('k').acquire()).release();
    server.pause();
    // one that does not block, before it
    const read = client.xread('STREAMS', 'nothing', '0');
    const { message } = await failure(holdfast.mutex('k').tryAcquire(), 'HOLDFAST_UNREACHABLE');
    expect(message).toContain(`; the client is connected (${server.host}:${server.port}) (see `);
    expect(warnings).toEqual([]);
    server.resume();
    await read;
    await holdfast.close({ grace: 0 });
    client.disconnect();
  });
});

it('a client of its own is not blocked', async () => {
  const shared = new Redis(server.port, server.host);
  const client = shared.duplicate();
  const holdfast = new Holdfast(client, OPTIONS);
  const lease = await holdfast.mutex(freshKey()).acquire();
  await shared.blpop('nothing', paced(1500) / 1000);
  expect(lease.held).toBe(true);
  expect(await lease.release()).toBe('freed');
  await holdfast.close();
  for (const each of [shared, client]) each.disconnect();
});

it('with node-redis the errors name the possible reason', async () => {
  const client = createClient({ url: server.url });
  await client.connect();
  const holdfast = new Holdfast(client, OPTIONS);
  const lease = await holdfast.mutex(freshKey()).acquire();
  const blocked = client.blPop('nothing', BLOCKED / 1000);
  const lost = await aborted(lease.signal);
  expect(lost.message).toContain('a blocking command (BLPOP) would be one reason');
  await blocked;
  await holdfast.close({ grace: 0 });
  client.destroy();
});
