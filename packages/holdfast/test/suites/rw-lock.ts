/** The behaviour of the read-write lock, on any backend. */
import { paced, until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { Holdfast, RwLease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { aborted, failure, freshKey, later, queued, turn, unused } from './helpers.js';
import { sideState } from './lock-state.js';
import { rwLockSides } from './rw-lock-sides.js';

// claim windows are far longer than a test, so a slow machine does not cost a waiter its turn
export const NO_POLL = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };

export function rwLockSuite(backend: Backend): void {
  describe('sharing', () => {
    sharing(backend);
    ending(backend);
  });
  describe('order', () => {
    order(backend);
    streaming(backend);
  });
  describe('changing sides', () => rwLockSides(backend));
  describe('state', () => sideState(backend));
}

/**
 * The weight of all current holders: detects a writer that is not alone, and a total above the
 * capacity.
 */
export class WeightWatch {
  weight = 0;
  most = 0;
  visits = 0;

  async visit(weight: number): Promise<void> {
    this.weight += weight;
    this.visits += 1;
    this.most = Math.max(this.most, this.weight);
    await turn();
    this.weight -= weight;
  }
}

function sharing(backend: Backend): void {
  it('admits readers together, each with its own lease', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    await using first = await one.rwLock(key).read.acquire();
    await using second = await other.rwLock(key).read.acquire();
    expect([first.mode, second.mode]).toEqual(['read', 'read']);
    expect(second.fence).toBeGreaterThan(first.fence);
    const info = await one.inspect(key);
    expect(info?.holders.map(({ id, permits }) => [id, permits])).toEqual([
      [first.id, 1],
      [second.id, 1],
    ]);
    expect(info).toMatchObject({ used: 2, holderCount: 2 });
    expect(await other.rwLock(key).write.tryAcquire()).toBeNull();
  });

  it('admits a writer alone', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const lease = await one.rwLock(key).write.acquire();
    expect(lease.mode).toBe('write');
    expect(await other.rwLock(key).read.tryAcquire()).toBeNull();
    expect(await other.rwLock(key).write.tryAcquire()).toBeNull();
    expect(await lease.release()).toBe('freed');
    expect(await other.rwLock(key).read.run(({ mode }) => mode)).toBe('read');
    expect(await one.inspect(key)).toBeNull();
  });

  it('admits no other holder together with a writer', async () => {
    const key = freshKey();
    const inside = new WeightWatch();
    const task = async (holdfast: Holdfast, at: number): Promise<void> => {
      const lock = holdfast.rwLock(key);
      for (let round = 0; round < 4; round++) {
        const writes = (at + round) % 3 === 0;
        const side = writes ? lock.write : lock.read;
        await side.run(() => inside.visit(writes ? 1000 : 1));
      }
    };
    const instances = await Promise.all([backend.make(), backend.make(), backend.make()]);
    await Promise.all(instances.flatMap((one) => [0, 1, 2, 3].map((at) => task(one, at))));
    expect(inside.visits).toBe(48);
    expect(inside.most).toBe(1000);
    expect(await instances[0]?.inspect(key)).toBeNull();
  });

  it('control: another holder together with a writer is detected', async () => {
    const holdfast = await backend.make();
    const inside = new WeightWatch();
    const visit = (): Promise<void> => inside.visit(1000);
    // one of the two enters without the lock
    await Promise.all([holdfast.rwLock(freshKey()).write.run(visit), inside.visit(1), visit()]);
    expect(inside.most).toBeGreaterThan(1000);
  });
}

function ending(backend: Backend): void {
  it("does not prolong a reader's lease by the renewals of other readers", async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const silent = await one.rwLock(key).read.acquire({ ttl: paced(100), renew: false });
    const renewed = await one.rwLock(key, { ttl: paced(2000) }).read.acquire();
    const writing = later(other.rwLock(key).write.acquire());
    await queued(one, key, 1);
    await aborted(silent.signal);
    await renewed.ensure(1000);
    expect(await silent.release()).toBe('lost');
    const info = await one.inspect(key);
    expect(info?.holders.map(({ id }) => id)).toEqual([renewed.id]);
    await renewed.release();
    const writer = await writing;
    expect(writer.mode).toBe('write');
    await writer.release();
  });

  it('goes to the next waiter when a reader does not release', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    await one.rwLock(key).read.acquire({ ttl: paced(100), renew: false });
    const writer = await other.rwLock(key).write.acquire({ wait: 30_000 });
    expect(await writer.release()).toBe('freed');
  });

  it('refuses another kind of lock for the same key', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    await using _lease = await one.mutex(key).acquire();
    const error = await failure(other.rwLock(key).read.acquire(), 'HOLDFAST_MISMATCH');
    expect(error.message).toContain('in use as a mutex, and was requested as a read-write lock');
    expect(error).toMatchObject({ key, option: undefined });
    const info = await one.inspect(key);
    expect(info).toMatchObject({ permits: 1, waiterCount: 0 });
  });

  it('refuses invalid keys and options, and sends no request', async () => {
    const holdfast = await backend.make();
    const lock = holdfast.rwLock(freshKey());
    const wrong = { wait: -1 };
    expect((await failure(lock.read.acquire(wrong), 'HOLDFAST_BAD_OPTION')).option).toBe('wait');
    await failure(lock.write.run('no work' as never), 'HOLDFAST_BAD_OPTION');
    expect(await holdfast.inspect(lock.key)).toBeNull();
  });
}

function order(backend: Backend): void {
  it.each([false, true])(
    'is that of arrival, and readers enter together (fair: %s)',
    async (fair) => {
      const all = await Promise.all([1, 2, 3].map(() => backend.make(NO_POLL)));
      const key = freshKey();
      const first = await (all[0] as Holdfast).rwLock(key).read.acquire();
      const wanted = ['write', 'read', 'read', 'write', 'read'] as const;
      const waiting: Promise<RwLease>[] = [];
      for (const [at, side] of wanted.entries()) {
        const lock = (all[at % 3] as Holdfast).rwLock(key, { fair });
        waiting.push(lock[side].acquire());
        await queued(all[0] as Holdfast, key, at + 1);
      }
      const steps: string[] = [];
      await first.release();
      for (let served = 0; served < wanted.length; ) {
        // the store shows the holders after the last release; then all of them release
        const info = await (all[0] as Holdfast).inspect(key);
        const inside = info?.holders.map(({ id }) => id) ?? [];
        served += inside.length;
        const entered = await Promise.all(waiting.slice(0, served));
        const leases = entered.filter(({ id }) => inside.includes(id));
        steps.push(leases.map(({ mode }) => mode).join(' '));
        await Promise.all(leases.map((lease) => lease.release()));
      }
      expect(steps).toEqual(['write', 'read read', 'write', 'read']);
      const fences = (await Promise.all(waiting)).map(({ fence }) => fence);
      expect([...fences].sort((a, b) => a - b)).toEqual(fences);
    },
  );
}

function streaming(backend: Backend): void {
  it('lets no stream of readers overtake a writer', async () => {
    const all = await Promise.all([backend.make(NO_POLL), backend.make(NO_POLL)]);
    const key = freshKey();
    let writes = false;
    let done = false;
    const late: number[] = [];
    const early: number[] = [];
    const stream = async (holdfast: Holdfast): Promise<void> => {
      while (!done) {
        const seen = writes ? late : early;
        await holdfast.rwLock(key).read.run(({ fence }) => {
          seen.push(fence);
          return turn();
        });
      }
    };
    const streams = all.flatMap((one) => [stream(one), stream(one)]);
    const watch = await backend.make(NO_POLL);
    const writing = all[0].rwLock(key).write.run(({ fence }) => fence);
    let own = 0;
    const written = writing.then((fence) => {
      own = fence;
    });
    const waits = async (): Promise<boolean> =>
      own > 0 || ((await watch.inspect(key))?.waiters.some(({ permits }) => permits > 1) ?? false);
    await until(waits, { what: 'the writer waits' });
    // every acquisition from here on arrives after the writer
    writes = true;
    await written;
    while (late.length < 8) await turn();
    done = true;
    await Promise.all(streams);
    expect(Math.min(...late)).toBeGreaterThan(own);
    await unused(watch, key);
  });

  it("refuses a reader's tryAcquire while a writer waits", async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const reader = await one.rwLock(key).read.acquire();
    const writing = later(other.rwLock(key).write.acquire());
    await queued(one, key, 1);
    expect(await one.rwLock(key).read.tryAcquire()).toBeNull();
    await reader.release();
    await (await writing).release();
  });
}
