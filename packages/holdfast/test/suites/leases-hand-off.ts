/** The lease that a successor gets by a hand-off inside its process. */
import { expect, it } from 'vitest';
import type { AcquireOptions, Holdfast, Lease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { freshKey, queued } from './helpers.js';

/** One lease, and its successor: a waiter of the same process. */
async function succession(
  holdfast: Holdfast,
  first: AcquireOptions,
  second: AcquireOptions,
  held: (lease: Lease) => unknown = () => undefined,
): Promise<{ key: string; successorRecord: Lease }> {
  const key = freshKey();
  const lease = await holdfast.mutex(key).acquire(first);
  const waiting = holdfast.mutex(key).acquire(second);
  await queued(holdfast, key, 1);
  await held(lease);
  await lease.release();
  return { key, successorRecord: await waiting };
}

/** The remaining time of the only lease, as the store reports it. */
async function left(holdfast: Holdfast, key: string): Promise<number> {
  const info = await holdfast.inspect(key);
  return info?.holders[0]?.remaining as number;
}

export function leaseHandOff(backend: Backend): void {
  it('the successor has its own ttl, not the rest of a longer one', async () => {
    const holdfast = await backend.make();
    const { key, successorRecord } = await succession(holdfast, { ttl: 30_000 }, { ttl: 500 });
    expect(await left(holdfast, key)).toBeLessThanOrEqual(500);
    expect(successorRecord.remaining).toBeLessThanOrEqual(500);
  });

  it('the successor has its own ttl also if the lease was extended', async () => {
    const holdfast = await backend.make({ ttl: 9000 });
    const long = (lease: Lease): Promise<number> => lease.ensure(3_600_000);
    const { key, successorRecord } = await succession(holdfast, {}, {}, long);
    const there = await left(holdfast, key);
    expect(there).toBeLessThanOrEqual(9000);
    expect(there).toBeGreaterThan(successorRecord.remaining);
  });

  it('a successor without renewal has its whole ttl', async () => {
    const holdfast = await backend.make();
    const terms = { ttl: 60_000, renew: false };
    const { successorRecord } = await succession(holdfast, { ttl: 60_000 }, terms);
    // a lease counts as held for 1 % and 2 ms less than its ttl; the rest is slack for this test
    expect(successorRecord.remaining).toBeGreaterThan(40_000);
  });
}
