/**
 * Keys, owners and condition names with special characters. Each primitive is handed over by push:
 * with `NO_POLL` no waiter polls within a test. HOLDFAST_SEED repeats a run.
 */
import fc from 'fast-check';
import { paced, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import { type Backend, NEWEST_BACKENDS, onBackends } from '../support/backends.js';
import { NO_POLL, waiting } from '../suites/gates-helpers.js';
import { freshKey, queued, unused } from '../suites/helpers.js';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ODD = ['\0', 'a\0b', '\n', ' ', '  a  b ', '%s%d%', '}{', '\\', '"\'', 'g r s o b', '\r\n*'];
const drawn = fc.sample(
  fc.string({ unit: fc.oneof(fc.constantFrom('\0', ' ', '\n', '%', '{', '}', '\\'), glyph()) }),
  { seed: SEED, numRuns: 20 },
);

function glyph(): fc.Arbitrary<string> {
  // no key of a lock contains the character of the keys of markers
  return fc
    .string({ unit: 'binary', minLength: 1, maxLength: 1 })
    .filter((one) => one !== '\u001f');
}

type Step = (one: Holdfast, other: Holdfast, text: string) => Promise<void>;

async function locks(one: Holdfast, other: Holdfast, key: string): Promise<void> {
  const owner = key;
  const first = await one.mutex(key, { sharedBy: owner }).acquire();
  const second = await one.mutex(key, { sharedBy: owner }).acquire();
  expect((await other.inspect(key))?.holders).toMatchObject([{ sharedBy: owner, holds: 2 }]);
  const next = other.mutex(key).acquire();
  await queued(one, key, 1);
  await second.release();
  await first.release();
  const lease = await next;
  const keys: string[] = [];
  for await (const info of one.list()) keys.push(info.key);
  expect(keys).toContain(key);
  expect((await one.forceRelease(key)).ended).toBe(1);
  await until(() => lease.signal.aborted, { what: `${JSON.stringify(key)} is lost` });
  await unused(one, key);
}

async function sharedLocks(one: Holdfast, other: Holdfast, key: string): Promise<void> {
  const permits = await one.semaphore(key, { permits: 2 }).acquire(2);
  const more = other.semaphore(key, { permits: 2 }).acquire();
  await queued(one, key, 1);
  await permits.release();
  await (await more).release();
  const writer = await one.rwLock(key).write.acquire();
  const reader = other.rwLock(key).read.acquire();
  await queued(one, key, 1);
  await writer.release();
  await (await reader).release();
}

async function conditions(one: Holdfast, other: Holdfast, text: string): Promise<void> {
  const lease = await one.mutex(text).acquire();
  const woken = one.mutex(text).condition(text).await(lease);
  await until(async () => (await other.inspect(text))?.parkedCount === 1);
  expect((await other.inspect(text))?.parked).toMatchObject([{ condition: text }]);
  await other.mutex(text).run((own) => other.mutex(text).condition(text).signal(own));
  expect(await woken).toBe(true);
  await lease.release();
  await unused(one, text);
}

async function gates(one: Holdfast, other: Holdfast, key: string): Promise<void> {
  const opened = one.latch(key, { count: 1 }).await();
  await until(async () => (await other.latch(key, { count: 1 }).count()) === 1);
  expect(await other.latch(key, { count: 1 }).countDown()).toBe(0);
  await opened;
  const name = `${key}b`;
  const passed = one.barrier(name, { parties: 2 }).await();
  await waiting(other.barrier(name, { parties: 2 }), 1);
  const passages = await Promise.all([passed, other.barrier(name, { parties: 2 }).await()]);
  expect(passages.map(({ index }) => index)).toEqual([0, 1]);
}

const STEPS: Record<string, Step> = {
  'a mutex with an owner, a list and force': locks,
  'a semaphore and a read-write lock': sharedLocks,
  'a condition': conditions,
  'a latch and a barrier': gates,
};

function oddKeys(backend: Backend): void {
  it.each(Object.keys(STEPS))('%s', { timeout: paced(60_000) }, async (what) => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    // otherwise a first grant may come with the reply of the request that names the channel
    await Promise.all([one.warmUp(), other.warmUp()]);
    const texts = [...ODD, ...drawn].map((text) => `${text}${freshKey()}${text}`);
    const step = STEPS[what] as (typeof STEPS)[string];
    await Promise.all(texts.map((text) => step(one, other, text)));
  });
}

onBackends(`odd keys (HOLDFAST_SEED=${SEED})`, NEWEST_BACKENDS, oddKeys);
