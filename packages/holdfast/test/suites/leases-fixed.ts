/** A lease without renewal lasts its whole ttl, also if its acquisition waited. */
import { expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { freshKey, queued } from './helpers.js';

const FIXED = { ttl: 60_000, renew: false } as const;
/** Far longer than the claim window, far shorter than the ttl. */
const MOST_OF_IT = 30_000;

interface Remaining {
  readonly remaining: number;
  release(): Promise<unknown>;
}

type Acquire = (holdfast: Holdfast, key: string) => Promise<Remaining>;

const ACQUIRES: readonly (readonly [string, Acquire])[] = [
  ['mutex', (holdfast, key) => holdfast.mutex(key).acquire(FIXED)],
  ['fair mutex', (holdfast, key) => holdfast.mutex(key).acquire({ ...FIXED, fair: true })],
  ['owner', (holdfast, key) => holdfast.mutex(key).acquire({ ...FIXED, sharedBy: 'o' })],
  ['read lock', (holdfast, key) => holdfast.rwLock(key).read.acquire(FIXED)],
  ['write lock', (holdfast, key) => holdfast.rwLock(key).write.acquire(FIXED)],
  ['semaphore', (holdfast, key) => holdfast.semaphore(key, { permits: 2 }).acquire(2, FIXED)],
  ['allOf', (holdfast, key) => holdfast.allOf([key, `${key}'`]).acquire(FIXED)],
];

/** Acquires the whole capacity of one kind of lock. */
function takeAll(holdfast: Holdfast, kind: string, key: string): Promise<Remaining> {
  if (kind.endsWith(' lock')) return holdfast.rwLock(key).write.acquire();
  if (kind === 'semaphore') return holdfast.semaphore(key, { permits: 2 }).acquire(2);
  return holdfast.mutex(key).acquire();
}

export function fixedLeases(backend: Backend): void {
  it.each(ACQUIRES)('granted to a waiter lasts its whole ttl: %s', async (kind, acquire) => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const first = await takeAll(one, kind, key);
    const waiting = acquire(other, key);
    await queued(one, key, 1);
    await first.release();
    const lease = await waiting;
    expect(lease.remaining).toBeGreaterThan(MOST_OF_IT);
    expect((await one.inspect(key))?.holders[0]?.remaining).toBeGreaterThan(MOST_OF_IT);
  });

  it('granted on return from a condition lasts its whole ttl', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const mutex = one.mutex(key, FIXED);
    const lease = await mutex.acquire();
    const back = mutex.condition('c').await(lease);
    await other.mutex(key).run(async (signaller) => {
      await other.mutex(key).condition('c').signal(signaller);
    });
    await back;
    expect(lease.remaining).toBeGreaterThan(MOST_OF_IT);
  });
}
