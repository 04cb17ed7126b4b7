/** What errors say: why a lease was lost, which holder a wait ran out for, and where it began. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../src/engine/commands.js';
import { Holdfast, HoldfastError } from '../../src/index.js';
import type { Lease } from '../../src/lease/lease.js';
import { failure } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const SETTINGS = { ttl: 10_000, claimWindow: 100, requestTimeout: 2000 };

let clock: VirtualClock;
let store: WatchedStore;
let one: Holdfast;
let other: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  one = new Holdfast(store, { ...SETTINGS, clock, label: 'billing' });
  other = new Holdfast(store, { ...SETTINGS, clock });
});

async function soon<T>(promise: Promise<T>, ms = 10): Promise<T> {
  promise.catch(() => undefined);
  await clock.advance(ms);
  return promise;
}

describe('a lost lease', () => {
  async function lost(lease: Lease): Promise<HoldfastError> {
    const { signal } = lease;
    await clock.advance(10_000);
    expect(signal.reason).toBe(lease.loss);
    return signal.reason as HoldfastError;
  }

  it.each([1, 2])('names the last failure of its renewal, with %i leases', async (count) => {
    const all = Array.from({ length: count }, (_, n) => soon(one.mutex(`k${n}`).acquire()));
    const [lease] = await Promise.all(all);
    store.ail('renew', 'failed');
    const error = await lost(lease as Lease);
    const cause = { name: 'StoreFailure', message: 'OOM the test refuses this' };
    if (count === 1) expect(error).toMatchObject({ cause });
    expect(error.cause).toBeInstanceOf(Error);
    expect(error.message).toContain('it could not be renewed in time: ');
    expect(error.message).toContain((error.cause as Error).message);
    await expect(lease?.extend(5)).rejects.toMatchObject({ code: 'HOLDFAST_LOST', cause });
  });

  it('names a missing answer', async () => {
    const lease = await soon(one.mutex('k').acquire());
    store.ail('renew', 'lost');
    const { cause } = await lost(lease);
    expect(String(cause)).toContain('no reply from the store within');
  });

  it('has no cause of an earlier renewal that failed', async () => {
    const lease = await soon(one.mutex('k').acquire());
    store.ail('renew', 'failed');
    await clock.advance(7000);
    store.heal();
    await clock.advance(2000);
    expect(lease.held).toBe(true);
    await soon(one.forceRelease('k'), 5000);
    expect([lease.held, lease.loss.cause]).toEqual([false, undefined]);
  });

  it('says nothing of renewal if it was not to be renewed', async () => {
    const lease = await soon(one.mutex('k').acquire({ renew: false }));
    const { cause, message } = await lost(lease);
    expect(cause).toBe(undefined);
    expect(message).toContain(
      'Holdfast: the lease of "k" was lost: its ttl of 10000 ms has passed, and renew is false (',
    );
  });
});

describe('a wait that runs out', () => {
  async function timeout(waiting: Promise<unknown>, ms = 200): Promise<string> {
    const { message } = await failure(soon(waiting, ms), 'HOLDFAST_TIMEOUT');
    const text = message.replace(/ \(see [^)]*\)$/u, '');
    return text.replace(/process \d+ on ".*?"/u, 'process 7 on "host"');
  }

  it('names the holder, its age and the place in the queue', async () => {
    await soon(one.mutex('k').acquire());
    await clock.advance(3000);
    void other.mutex('k', { fair: true }).acquire();
    await clock.advance(10);
    void other.mutex('k', { fair: true }).acquire();
    await clock.advance(10);
    const waiting = other.mutex('k', { fair: true }).acquire({ wait: 200 });
    expect(await timeout(waiting)).toBe(
      'Holdfast: "k" was not granted within 200 ms; ' +
        'held by "billing" (process 7 on "host") for 3.2 s; place 3 in the queue',
    );
  });

  it('counts the tasks of the own process before it', async () => {
    await soon(other.mutex('k').acquire());
    for (let n = 0; n < 4; n++) void one.mutex('k').acquire();
    expect(await timeout(one.mutex('k').acquire({ wait: 150 }))).toContain('place 5 in the queue');
  });

  it('names one of several holders', async () => {
    const semaphore = one.semaphore('k', { permits: 3 });
    await soon(Promise.all([semaphore.acquire(), semaphore.acquire(2)]));
    const waiting = other.semaphore('k', { permits: 3 }).acquire(1, { wait: 100 });
    expect(await timeout(waiting)).toContain('and 1 more; place 1 in the queue');
  });

  it('says that the own process holds the lock, and sends no command for it', async () => {
    await soon(one.mutex('k').acquire());
    store.batches.length = 0;
    const text = await timeout(one.mutex('k').acquire({ wait: 100 }), 101);
    expect(text).toBe(
      'Holdfast: "k" was not granted within 100 ms; held by "billing" (this process) for 0.1 s; ' +
        'place 1 in it; if the code that holds it awaits this call, it waits for itself',
    );
    // the lease has lasted for a claim window: the store is told where its process listens
    expect(store.batches.flat().map(({ op }) => op)).toEqual(['renew']);
  });

  it('names it for an owner and for several keys too', async () => {
    await soon(one.mutex('k').acquire());
    const locking = other.ownerLocks.lock('k', 'me', 1000, { wait: 100 });
    expect(await timeout(locking)).toContain('held by "billing"');
    const all = await failure(
      soon(other.allOf(['j', 'k']).acquire({ wait: 100 }), 400),
      'HOLDFAST_TIMEOUT',
    );
    expect((all.cause as Error).message).toContain('held by "billing"');
  });

  it('asks once for all waits of a key that end at the same time', async () => {
    await soon(one.mutex('k').acquire());
    store.ail('inspect', 20);
    const waits = Array.from({ length: 50 }, () => other.mutex('k').acquire({ wait: 100 }));
    const texts = await Promise.all(waits.map((wait) => timeout(wait)));
    expect(texts.filter((text) => text.includes('held by "billing"'))).toHaveLength(50);
    expect(store.seen('inspect')).toHaveLength(1);
  });

  it('is rejected without the holder if the store does not answer soon', async () => {
    await soon(one.mutex('k').acquire());
    store.ail('inspect', 'lost');
    let over = 0;
    const start = clock.now();
    const waiting = other.mutex('k').acquire({ wait: 100 });
    waiting.catch(() => {
      over = clock.now() - start;
    });
    expect(await timeout(waiting, 500)).toBe('Holdfast: "k" was not granted within 100 ms');
    expect(over).toBe(300);
  });

  it('asks nothing for an attempt that resolves to null', async () => {
    await soon(one.mutex('k').acquire());
    expect(await soon(other.mutex('k').tryAcquire())).toBeNull();
    expect(await soon(other.mutex('k').tryAcquire({ wait: 100 }), 200)).toBeNull();
    expect(store.seen('inspect')).toEqual([]);
  });
});

describe('the stack of an error', () => {
  const wait = { wait: 50 };
  const lead = { fresh: () => undefined, compute: () => 1 };
  const silent = async (): Promise<void> => {
    store.fate = () => 'lost';
  };
  const busy = async (): Promise<void> => {
    await soon(one.mutex('k').acquire());
    void one.singleFlight('flight').run({ ...lead, compute: () => new Promise(() => undefined) });
    await clock.advance(10);
  };
  const held = async (): Promise<Lease> => {
    const lease = await soon(other.mutex('mine').acquire());
    await silent();
    return lease;
  };
  const latch = { count: 1 };
  type Case = [string, () => Promise<unknown>, (given: unknown) => Promise<unknown>];
  const cases: Case[] = [
    ['acquire', busy, () => other.mutex('k').acquire(wait)],
    ['acquire without an answer', silent, () => other.mutex('k').acquire(wait)],
    ['tryAcquire without an answer', silent, () => other.mutex('k').tryAcquire()],
    ['run', busy, () => other.mutex('k').run(() => 1, wait)],
    ['a semaphore', silent, () => other.semaphore('k', { permits: 2 }).acquire(1, wait)],
    ['a semaphore, run', silent, () => other.semaphore('k', { permits: 2 }).run(() => 1, wait)],
    ['a mismatch', busy, () => other.semaphore('k', { permits: 2 }).acquire(1, wait)],
    ['a read lock', silent, () => other.rwLock('k').read.acquire(wait)],
    ['several keys', busy, () => other.allOf(['j', 'k']).acquire(wait)],
    ['ownerLocks.lock', busy, () => other.ownerLocks.lock('k', 'me', 1000, wait)],
    ['ownerLocks.tryLock', silent, () => other.ownerLocks.tryLock('k', 'me', 1000)],
    ['ownerLocks.unlock', silent, () => other.ownerLocks.unlock('k', 'me')],
    ['campaign', busy, () => other.election('k').campaign(wait)],
    ['runOnce', silent, () => other.schedule('k', { atLeast: 0 }).runOnce(() => 1, wait)],
    ['a flight', busy, () => other.singleFlight('flight').run(lead, wait)],
    ['a latch', busy, () => other.latch('k', latch).await(wait)],
    ['countDown', silent, () => other.latch('k', latch).countDown()],
    ['a barrier', busy, () => other.barrier('k', { parties: 2 }).await(wait)],
    ['setPermits', silent, () => other.semaphore('k', { permits: 2 }).setPermits(3)],
    ['inspect', silent, () => other.inspect('k')],
    ['forceRelease', silent, () => other.forceRelease('k')],
    ['ready', silent, () => other.ready()],
    ['extend', held, (lease) => (lease as Lease).extend(1000)],
    ['release', held, (lease) => (lease as Lease).release()],
  ];

  /** True if a stack has a frame of this function. */
  function isFrom(name: string, error: unknown): boolean {
    return new RegExp(`^ +at (async )?${name} `, 'mu').test(String((error as Error).stack));
  }

  it.each(cases)('contains the caller: %s', async (_, given, call) => {
    const lease = await given();
    let seen: unknown;
    async function theCaller(): Promise<unknown> {
      return await call(lease);
    }
    async function itsCaller(): Promise<void> {
      await theCaller().catch((error: unknown) => {
        seen = error;
      });
    }
    void itsCaller();
    await clock.advance(20_000);
    expect(seen).toBeInstanceOf(HoldfastError);
    expect(isFrom('theCaller', seen)).toBe(true);
  });

  it('would not contain it if the error came from a timer as it is', async () => {
    const late = new Promise((_, reject) => {
      clock.after(5, () => reject(new HoldfastError('HOLDFAST_TIMEOUT', 'late')));
    });
    async function theCaller(): Promise<unknown> {
      return await late;
    }
    const error = failure(theCaller(), 'HOLDFAST_TIMEOUT');
    await clock.advance(5);
    expect(isFrom('theCaller', await error)).toBe(false);
  });

  it('is not that of another caller whose wait ended with it', async () => {
    store.fate = (command: Command) => (command.op === 'acquire' ? 'refused' : 'answered');
    const errors: Error[] = [];
    const note = (error: Error): void => void errors.push(error);
    async function first(): Promise<unknown> {
      return await other.mutex('k').acquire();
    }
    async function second(): Promise<unknown> {
      return await other.mutex('k').acquire();
    }
    first().catch(note);
    second().catch(note);
    await clock.advance(10);
    expect(errors.map((error) => isFrom('first', error))).toEqual([true, false]);
    expect(errors.map((error) => isFrom('second', error))).toEqual([false, true]);
  });
});
