/** A key that its register holds back, as a guard of PostgreSQL does: nothing is granted. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type HoldfastOptions, type Lease } from '../../../src/index.js';
import { MemoryRegister } from '../../../src/store/register/memory-register.js';
import type { Change, Swapped, Versioned } from '../../../src/store/register/register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** Refuses grants of the lock `k` while it is guarded. */
class Guarded extends MemoryRegister {
  guarded = false;
  refused = 0;
  #failed = false;

  override async read(key: string): Promise<Versioned> {
    const heldBack = key.endsWith('lock:k') && this.#failed && this.guarded;
    if (heldBack) this.#failed = false;
    return { ...(await super.read(key)), heldBack };
  }

  override async swap(key: string, version: string, change: Change): Promise<Swapped> {
    const isHeldBack = this.guarded && key.endsWith('lock:k') && change.grants !== false;
    // a guard keeps the record
    const kept = { ...change, forgetAt: Number.MAX_SAFE_INTEGER };
    if (!isHeldBack) return super.swap(key, version, kept);
    this.refused += 1;
    this.#failed = true;
    return false;
  }

  override overtake(key: string): Promise<Versioned> {
    return this.read(key);
  }
}

let clock: VirtualClock;
let register: Guarded;
let one: Holdfast;
let other: Holdfast;

function instance(options: HoldfastOptions = {}): Holdfast {
  const store = new RegisterStore(register, { clock, fraction: () => 0.5 });
  return new Holdfast(store, { clock, ...options });
}

beforeEach(() => {
  clock = new VirtualClock();
  register = new Guarded(clock);
  one = instance();
  other = instance();
});

/** A call that waits, and its result as soon as it is there. */
async function waits(call: Promise<Lease>): Promise<{ lease: Lease | undefined }> {
  const waiter: { lease: Lease | undefined } = { lease: undefined };
  void call.then((lease) => (waiter.lease = lease));
  await clock.advance(100);
  expect(waiter.lease).toBeUndefined();
  return waiter;
}

describe('while a key is held back', () => {
  it.each([
    ['a forced release', () => instance().forceRelease('k')],
    ['a release', (lease: Lease) => lease.release()],
  ])('%s is done, and the next waiter comes after it', async (_, end) => {
    const lease = await clock.until(one.mutex('k').acquire());
    const waiter = await waits(other.mutex('k').acquire());
    register.guarded = true;
    const ending = end(lease);
    await clock.advance(1000);
    await expect(ending).resolves.toBeTruthy();
    await clock.advance(10_000);
    expect(waiter.lease).toBeUndefined();
    expect(await clock.until(instance().mutex('k').tryAcquire())).toBeNull();
    const [shown] = (await clock.until(one.inspect('k')))?.holders ?? [];
    expect(shown?.label).toBe('a transaction of the last holder');
    register.guarded = false;
    await clock.advance(1000);
    expect(waiter.lease?.held).toBe(true);
    expect(waiter.lease?.fence).toBeGreaterThan(lease.fence);
  });

  it('a writer becomes a reader, and others come after it', async () => {
    const lease = await clock.until(one.rwLock('k').write.acquire());
    const waiter = await waits(other.rwLock('k').read.acquire());
    register.guarded = true;
    const changing = lease.downgrade();
    await clock.advance(10_000);
    await expect(changing).resolves.toBeUndefined();
    expect(waiter.lease).toBeUndefined();
    expect(await clock.until(lease.tryUpgrade())).toBe(false);
    register.guarded = false;
    await clock.advance(1000);
    expect([waiter.lease?.held, lease.held]).toEqual([true, true]);
  });

  it('few swaps are refused: each look needs one', async () => {
    const lease = await clock.until(one.mutex('k').acquire());
    await waits(other.mutex('k').acquire());
    register.guarded = true;
    await clock.until(lease.release());
    await clock.advance(10_000);
    expect(register.refused).toBeGreaterThan(5);
    expect(register.refused).toBeLessThan(50);
  });

  it('it stays so for longer than the record of the lock is kept', async () => {
    const short = { retention: 6000, ttl: 2000, claimWindow: 1000, renew: false };
    await clock.until(instance(short).mutex('k').acquire());
    register.guarded = true;
    await clock.advance(9000);
    register.refused = 0;
    expect(await clock.until(instance(short).mutex('k').tryAcquire())).toBeNull();
    expect(register.refused).toBe(1);
  });
});
