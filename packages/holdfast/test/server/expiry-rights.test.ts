/** A user that may not set an expiry: each first call is refused, and no key stays (I9). */
import { type Server, startServer } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import { Made, openClient } from '../support/backends.js';
import { failure } from '../suites/helpers.js';

const login = { username: 'limited', password: 'pass' };

async function limit(server: Server, right: string): Promise<void> {
  const rules = ['reset', 'on', '>pass', '~*', '&*', '+@all', right];
  await server.command('ACL', 'SETUSER', 'limited', ...rules);
}

describe.each(['redis', 'valkey'] as const)('on %s', (kind) => {
  const made = new Made();
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ server: kind });
  });
  afterEach(async () => {
    await made.close();
    await server.command('FLUSHALL');
  });
  afterAll(() => server.stop());

  const nothingStays = async (): Promise<void> => {
    expect(await server.command('KEYS', '*')).toEqual([]);
  };

  const CALLS: readonly (readonly [name: string, call: (one: Holdfast) => Promise<unknown>])[] = [
    ['mutex', (one) => one.mutex('k').acquire()],
    ['mutex.tryAcquire', (one) => one.mutex('k').tryAcquire()],
    ['a fair mutex', (one) => one.mutex('k').acquire({ fair: true })],
    ['a shared mutex', (one) => one.mutex('k').acquire({ sharedBy: 'me' })],
    ['allOf', (one) => one.allOf(['a', 'b', 'c']).acquire()],
    ['semaphore', (one) => one.semaphore('k', { permits: 3 }).acquire(2)],
    ['rwLock.read', (one) => one.rwLock('k').read.acquire()],
    ['rwLock.write', (one) => one.rwLock('k').write.acquire()],
    ['election', (one) => one.election('k').campaign()],
    ['schedule', (one) => one.schedule('k', { atLeast: 0 }).runOnce(() => 1, { slot: 's' })],
    ['ownerLocks', (one) => one.ownerLocks.lock('k', 'me', 5000)],
    ['latch', (one) => one.latch('k', { count: 2 }).countDown()],
    ['barrier', (one) => one.barrier('k', { parties: 2 }).await()],
  ];

  it.each(CALLS)('%s', async (_, call) => {
    await limit(server, '-pexpireat');
    const { host, port } = server;
    const holdfast = await made.on(openClient('ioredis-6', { host, port, ...login }));
    await failure(call(holdfast), 'HOLDFAST_REFUSED');
    await holdfast.close({ grace: 0 });
    await nothingStays();
  });
});

it('a quorum leaves no record', async () => {
  const made = new Made();
  const servers = await Promise.all([1, 2, 3].map(() => startServer({ server: 'redis' })));
  try {
    for (const server of servers) await limit(server, '-pexpire');
    const members = servers.map(({ host, port }) =>
      openClient('ioredis-6', { host, port, ...login }),
    );
    const holdfast = await made.across(Promise.all(members), { unreachableAfter: 300 });
    await failure(holdfast.mutex('k').acquire(), 'HOLDFAST_UNREACHABLE');
    await holdfast.close({ grace: 0 });
    for (const server of servers) {
      const keys = (await server.command('KEYS', '*')) as string[];
      const times = await Promise.all(keys.map((key) => server.command('PTTL', key)));
      // the marker of the server has no expiry
      expect(times.filter((ms) => ms === -1).length).toBeLessThanOrEqual(1);
    }
  } finally {
    await made.close();
    await Promise.all(servers.map((server) => server.stop()));
  }
});
