/** Locks and leases fit the structural types, and so do plain objects. Only compiled. */
import { Holdfast, type LeaseLike, type LockLike, memory } from 'holdfast';
import { createMutex } from 'holdfast/mutex';

const holdfast = new Holdfast(memory());

async function pay(lock: LockLike, write: (fence: number) => void): Promise<number> {
  return lock.run((lease) => {
    lease.assertHeld();
    write(lease.fence);
    return lease.remaining;
  });
}

await pay(holdfast.mutex('a'), () => undefined);
await pay(holdfast.rwLock('a').write, () => undefined);
await pay(createMutex(holdfast, 'a'), () => undefined);

const lease: LeaseLike = {
  ...{ key: 'a', id: '1', fence: 7, holds: 1, held: true, state: 'held', remaining: 1000 },
  signal: new AbortController().signal,
  verify: async () => true,
  assertHeld: () => undefined,
  ensure: async (ms) => ms,
  extend: async (ms) => ms,
  stopRenewal: () => undefined,
  release: async () => 'freed',
};
const double: LockLike = {
  key: 'a',
  acquire: async () => lease,
  tryAcquire: async () => null,
  run: async (work) => work(lease),
};
await pay(double, () => undefined);

// @ts-expect-error a lock needs `run`
await pay({ key: 'a', acquire: async () => lease, tryAcquire: async () => null }, () => undefined);
// @ts-expect-error a semaphore takes a number of permits
await pay(holdfast.semaphore('a', { permits: 2 }), () => undefined);
// @ts-expect-error a lease has a signal
export const noSignal: LeaseLike = { ...lease, signal: undefined };
// @ts-expect-error a fence is a number
export const textFence: LeaseLike = { ...lease, fence: '7' };
// @ts-expect-error the state has a closed set of values
export const badState: LeaseLike = { ...lease, state: 'free' };
// @ts-expect-error a lease is no lock
await pay(lease, () => undefined);
