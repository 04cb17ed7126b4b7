/** A user that may not set an expiry: a first call for a mutex is refused, and no key stays. */
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
    ['allOf', (one) => one.allOf(['a', 'b', 'c']).acquire()],
    ['election', (one) => one.election('k').campaign()],
    ['schedule', (one) => one.schedule('k', { atLeast: 0 }).runOnce(() => 1, { slot: 's' })],
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
