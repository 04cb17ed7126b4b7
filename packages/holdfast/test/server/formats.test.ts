/**
 * The formats of the records, for `docs/upgrade.md`: their layout is that of format 1, and a record
 * of a later format is refused by every call.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Server } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { adopt, toText } from '../../src/handover.js';
import type { Holdfast, Lease } from '../../src/index.js';
import {
  type ClientName,
  Made,
  openClient,
  serverOf,
  SERVERS,
  stopServersAfterwards,
} from '../support/backends.js';
import { failure, freshKey, later, queued } from '../suites/helpers.js';

stopServersAfterwards();

const made = new Made();
let server: Server;
let redis: Redis;
beforeAll(async () => {
  server = await serverOf(SERVERS[0] as (typeof SERVERS)[number]);
  redis = new Redis(server.port, server.host);
});
afterAll(async () => {
  await made.close();
  redis.disconnect();
});

const UNPACK = `local found = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  -- the other fields are plain text
  local packed = field:find('^[shwnm]') and redis.call('HGET', KEYS[1], field)
  local kinds = {}
  for at, value in ipairs(packed and { cmsgpack.unpack(packed) } or {}) do
    kinds[at] = type(value)
  end
  found[#found + 1] = field:sub(1, 1) .. ' ' .. table.concat(kinds, ' ')
end
table.sort(found)
return found`;

/** The fields of a record, each with the types of its values. */
function layout(key: string, part = ''): Promise<unknown> {
  return redis.eval(UNPACK, 1, `holdfast:{${key}}${part}`);
}

async function instance(kind: ClientName = 'ioredis-6'): Promise<Holdfast> {
  return made.on(openClient(kind, { host: server.host, port: server.port }));
}

it('the layout of the records is that of format 1', async () => {
  const [one, other] = [await instance(), await instance()];
  const [mutex, permits, gate] = [freshKey(), freshKey(), freshKey()];
  await one.mutex(mutex).acquire();
  void later(other.mutex(mutex).acquire({ fair: true }));
  await queued(one, mutex, 1);
  await one.semaphore(permits, { permits: 3 }).acquire(2, { sharedBy: 'us' });
  await one.latch(gate, { count: 3 }).countDown();
  const [n, t] = ['number', 'string'];
  const fields = (name: string, ...kinds: (string | undefined)[]): string =>
    [name, ...kinds].join(' ');
  const state = [n, n, n, n, n, n, n, n, n, n];
  const lease = [n, n, n, n, n, n];
  expect(await layout(mutex)).toEqual([
    fields('m', t, n, t),
    fields('n', n, n, n),
    fields('s', 'boolean', n, n, n, t, n, n, n, n, n, n),
    fields('w', n, n, n, n, n, n, t, t, t, n, t),
  ]);
  expect(await layout(permits)).toEqual([
    fields('h', ...lease, t, 'table', t, n, t),
    'p ',
    'r ',
    fields('s', ...state),
  ]);
  expect(await layout(gate, ':g')).toEqual([fields('s', t, n, n, n, n, n, n, n, n, n)]);
});

it('a record of a later format is refused by every call, and left as it is', async () => {
  const holdfast = await instance();
  const key = freshKey();
  // format 1 cannot begin with this byte: no value of MessagePack does
  const record = Buffer.from([0xc1, 0x02, 0x01]);
  await redis.hset(`holdfast:{${key}}`, 's', record);
  await redis.hset(`holdfast:{${key}}:g`, 's', record);
  const calls: [string, () => Promise<unknown>][] = [
    ['acquire', () => holdfast.mutex(key).acquire()],
    ['tryAcquire', () => holdfast.mutex(key).tryAcquire()],
    ['read', () => holdfast.rwLock(key).read.acquire()],
    ['semaphore', () => holdfast.semaphore(key, { permits: 2 }).acquire()],
    ['setPermits', () => holdfast.semaphore(key, { permits: 2 }).setPermits(3)],
    ['allOf', () => holdfast.allOf([key]).acquire()],
    ['schedule', () => holdfast.schedule(key, { atLeast: 0 }).runOnce(() => 1)],
    ['inspect', () => holdfast.inspect(key)],
    ['forceRelease', () => holdfast.forceRelease(key)],
    ['countDown', () => holdfast.latch(key, { count: 2 }).countDown()],
    ['barrier', () => holdfast.barrier(key, { parties: 2 }).await()],
  ];
  for (const [name, call] of calls) {
    const error = await failure(call(), 'HOLDFAST_REFUSED');
    expect(error.message, name).toContain('cannot be read');
  }
  for (const part of ['', ':g']) {
    expect(await redis.hgetBuffer(`holdfast:{${key}}${part}`, 's')).toEqual(record);
  }
});

it('a lease as text of a later format is refused', async () => {
  const [one, other] = [await instance(), await instance()];
  const lease: Lease = await one.mutex(freshKey()).acquire();
  const text = toText(one, lease);
  const later = text.replace('"holdfast":1', '"holdfast":2');
  expect(later).not.toBe(text);
  await failure(adopt(other, later), 'HOLDFAST_BAD_OPTION');
});
