/**
 * Conditions in virtual time: lost replies, frozen processes, and the cost of waiting. Each
 * guarantee about signals has a planted fault that breaks it.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Holder } from '../../src/engine/entries.js';
import { Resource } from '../../src/engine/resource.js';
import type { Command, Op, Park, Reply } from '../../src/engine/commands.js';
import { Holdfast, type HoldfastErrorCode, type Lease, type Mutex } from '../../src/index.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { StoreFailure } from '../../src/store/port.js';
import { later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const options = { ttl: 3000, claimWindow: 1000, requestTimeout: 100, unreachableAfter: 5000 };
let clock: VirtualClock;
let store: WatchedStore;
let mutex: Mutex;
let others: Mutex;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  mutex = new Holdfast(store, { ...options, clock }).mutex('k');
  others = new Holdfast(store.inner, { ...options, clock }).mutex('k');
});

/** Gives the first command of a kind another fate. */
function once(op: Op, fate: 'answer lost' | 'lost'): void {
  let left = 1;
  store.fate = (command) => (command.op === op && left-- > 0 ? fate : 'answered');
}

interface Sleeping {
  readonly lease: Lease;
  outcome: boolean | HoldfastErrorCode | undefined;
}

async function sleep(of: Mutex, wait?: number): Promise<Sleeping> {
  const lease = await of.acquire();
  const sleeping: Sleeping = { lease, outcome: undefined };
  void of
    .condition('c')
    .await(lease, wait === undefined ? {} : { wait })
    .then(
      (woken) => {
        sleeping.outcome = woken;
      },
      (error: { code: HoldfastErrorCode }) => {
        sleeping.outcome = error.code;
      },
    );
  await settle();
  return sleeping;
}

/** Acquires, signals, releases; resolves to the number of woken waiters. */
async function signal(of: Mutex): Promise<number> {
  const woken = await of.run((lease) => of.condition('c').signal(lease));
  await settle();
  return woken;
}

async function parkedNow(): Promise<number> {
  const key = 'k';
  const [reply] = store.inner.execute([{ op: 'inspect', key, limit: 9 }]);
  const shown = (await reply) as Reply;
  return shown.status === 'inspected' ? shown.parkedCount : -1;
}

describe('waiting', () => {
  it('polls once in a claim window, also while the lock is free', async () => {
    await sleep(mutex);
    store.batches.length = 0;
    await clock.advance(20_000);
    expect(store.batches.length).toBeGreaterThanOrEqual(19);
    expect(store.batches.length).toBeLessThanOrEqual(21);
    expect(await parkedNow()).toBe(1);
  });

  it('outlasts the shorter retention of another process that uses the lock', async () => {
    const long = { ...options, clock, ttl: 30_000, claimWindow: 10_000, retention: 60_000 };
    const sleeping = await sleep(new Holdfast(store, long).mutex('k'));
    const short = new Holdfast(store, { ...options, clock, claimWindow: 300, retention: 1000 });
    await short.mutex('k').run(() => undefined);
    await clock.advance(8000);
    expect(await parkedNow()).toBe(1);
    expect(await signal(others)).toBe(1);
    expect(sleeping.outcome).toBe(true);
  });

  it('finds a signal by polling, without pushes', async () => {
    store.pushes = false;
    const sleeping = await sleep(mutex);
    expect(await signal(others)).toBe(1);
    await clock.advance(1000);
    expect(sleeping.outcome).toBe(true);
    expect(sleeping.lease.held).toBe(true);
  });

  it.each(['before', 'during'])(
    'keeps renewal stopped if it was stopped %s the wait',
    async (when) => {
      const lease = await mutex.acquire();
      if (when === 'before') lease.stopRenewal();
      const woken = mutex.condition('c').await(lease, { wait: 10_000 });
      await clock.advance(5000);
      if (when === 'during') lease.stopRenewal();
      await clock.advance(5000);
      expect(await woken).toBe(false);
      expect(lease.held).toBe(true);
      await clock.advance(3000);
      expect(lease.held).toBe(false);
    },
  );

  it('leaves no timer behind', async () => {
    const sleeping = await sleep(mutex, 2000);
    await clock.advance(2000);
    expect(sleeping.outcome).toBe(false);
    await sleeping.lease.release();
    await settle();
    expect(clock.timers('strong')).toBe(0);
  });
});

describe('a lost reply', () => {
  it('to park: the request is sent again, and the waiter is parked once', async () => {
    once('park', 'answer lost');
    const sleeping = await sleep(mutex);
    await clock.advance(2000);
    expect(await parkedNow()).toBe(1);
    expect(await signal(others)).toBe(1);
    expect(sleeping.outcome).toBe(true);
    expect(new Set(store.seen('park').map(({ as }) => as)).size).toBe(1);
  });

  it('to park, with a signal before the request is sent again', async () => {
    once('park', 'answer lost');
    const sleeping = await sleep(mutex);
    expect(await signal(others)).toBe(1);
    await clock.advance(2000);
    expect(sleeping.outcome).toBe(true);
  });

  it('to park, lost with the request: the lease is renewed until the next attempt', async () => {
    store.ail('park', 'lost');
    const sleeping = await sleep(mutex);
    await clock.advance(4500);
    expect(sleeping.lease.held).toBe(false);
    store.heal();
    await clock.advance(500);
    expect(await parkedNow()).toBe(1);
    expect(await signal(others)).toBe(1);
    expect(sleeping.outcome).toBe(true);
  });

  it('to park, for too long: no lease and no waiter remain', async () => {
    store.ail('park', 'lost');
    const sleeping = await sleep(mutex);
    const { signal: lost } = sleeping.lease;
    await clock.advance(6000);
    expect(sleeping.outcome).toBe('HOLDFAST_UNREACHABLE');
    expect(lost.reason).toMatchObject({ code: 'HOLDFAST_LOST' });
    store.heal();
    await clock.advance(2000);
    expect(await parkedNow()).toBe(0);
    expect((await others.tryAcquire())?.held).toBe(true);
  });

  it('to a signal: it is sent again, and wakes one waiter', async () => {
    const [first, second] = [await sleep(others), await sleep(others)];
    once('signal', 'answer lost');
    const signalling = signal(mutex);
    await clock.advance(1000);
    expect(await signalling).toBe(1);
    expect(store.seen('signal').map(({ seq }) => seq)).toEqual([1, 1]);
    expect([first.outcome, second.outcome]).toEqual([true, undefined]);
  });

  it('to a signal, followed by another: each wakes one waiter', async () => {
    const all = [await sleep(others), await sleep(others), await sleep(others)];
    const lease = await mutex.acquire();
    once('signal', 'answer lost');
    const condition = mutex.condition('c');
    const sent = Promise.all([condition.signal(lease), condition.signal(lease)]);
    await clock.advance(1000);
    expect(await sent).toEqual([1, 1]);
    await lease.release();
    await settle();
    await all[0]?.lease.release();
    await settle();
    expect(all.map(({ outcome }) => outcome)).toEqual([true, true, undefined]);
  });

  it('to a signal, for as long as the lease lasts', async () => {
    await sleep(others);
    const lease = await mutex.acquire();
    store.fate = () => 'lost';
    const sent = later(mutex.condition('c').signal(lease));
    await clock.advance(4000);
    await expect(sent).rejects.toMatchObject({ code: 'HOLDFAST_UNCERTAIN' });
    expect(lease.held).toBe(false);
  });

  it('to the request to return: it is sent again', async () => {
    const sleeping = await sleep(mutex, 500);
    once('park', 'answer lost');
    await clock.advance(2000);
    const wants = store.seen('park').map(({ want }) => want);
    expect(wants.slice(-2)).toEqual(['permits', 'permits']);
    expect(sleeping.outcome).toBe(false);
    expect(sleeping.lease.held).toBe(true);
  });

  it('to the request to return, then a grant: reports that it was woken', async () => {
    const sleeping = await sleep(mutex, 500);
    const between = await others.acquire();
    once('park', 'answer lost');
    await clock.advance(510);
    await between.release();
    await settle();
    expect(sleeping.outcome).toBeUndefined();
    expect(sleeping.lease.held).toBe(true);
    await clock.advance(200);
    expect(sleeping.outcome).toBe(true);
  });

  it('an error from the server in reply to park: the lease is kept', async () => {
    store.ail('park', 'refused');
    const sleeping = await sleep(mutex);
    expect(sleeping.outcome).toBe('HOLDFAST_REFUSED');
    expect(sleeping.lease.held).toBe(true);
    await clock.advance(10_000);
    expect(sleeping.lease.held).toBe(true);
    expect(await sleeping.lease.release()).toBe('freed');
  });
});

/** Wakes the first parked waiter, whose process freezes from then on. */
async function wokenAndFrozen(): Promise<Sleeping> {
  await sleep(mutex);
  const second = await sleep(others);
  store.fate = () => 'lost';
  expect(await signal(others)).toBe(1);
  await clock.advance(5000);
  return second;
}

/** A second owner waits for the lock and signals. Returns how many waiters it wakes. */
async function signalAtOnce(): Promise<number> {
  const lease = await mutex.acquire();
  const signalling = signal(others);
  await settle();
  void later(mutex.condition('c').await(lease));
  return signalling;
}

/** A broken variant: releases the lease first, and parks after all others had a turn. */
class TwoSteps extends MemoryStore {
  override execute(batch: readonly Command[]): Promise<Reply>[] {
    return batch.map((command) => {
      if (command.op !== 'park' || command.want !== 'signal') return this.#one(command);
      return this.#inTwo(command);
    });
  }

  async #inTwo(command: Park): Promise<Reply> {
    const { key, id, retention } = command;
    await this.#one({ op: 'release', key, id, retention });
    await settle();
    await settle();
    return this.#one(command);
  }

  #one(command: Command): Promise<Reply> {
    return super.execute([command])[0] as Promise<Reply>;
  }
}

describe('no signal is lost', () => {
  it("if the woken waiter's process freezes", async () => {
    expect((await wokenAndFrozen()).outcome).toBe(true);
  });

  it('and the test detects a lost signal of a frozen process', async () => {
    const remove = Reflect.get(Resource.prototype, 'remove');
    vi.spyOn(Resource.prototype, 'remove').mockImplementation(function (
      this: Resource,
      holder: Holder,
    ) {
      holder.signalled = '';
      remove.call(this, holder);
    });
    expect((await wokenAndFrozen()).outcome).toBeUndefined();
  });

  it('between the release and the start of the wait', async () => {
    expect(await signalAtOnce()).toBe(1);
  });

  it('and the test detects a signal lost in between', async () => {
    const inTwoSteps = new TwoSteps(clock);
    mutex = new Holdfast(inTwoSteps, { ...options, clock }).mutex('k');
    others = new Holdfast(inTwoSteps, { ...options, clock }).mutex('k');
    expect(await signalAtOnce()).toBe(0);
  });
});

it('awaitUntil does not resolve without the lock', async () => {
  const lease = await mutex.acquire({ renew: false });
  const slow = async (): Promise<boolean> => {
    await new Promise<void>((resolve) => clock.after(4000, resolve));
    return true;
  };
  const waiting = later(mutex.condition('c').awaitUntil(lease, slow));
  await clock.advance(5000);
  await expect(waiting).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
});

it('a waiter that comes back while replicas are away asks again, and has its lease', async () => {
  Object.assign(store, { acknowledged: () => store });
  mutex = new Holdfast(store, { ...options, clock, replicas: 1 }).mutex('k');
  const lease = await mutex.acquire();
  const execute = store.execute.bind(store);
  let away = false;
  store.execute = (batch) =>
    execute(batch).map(async (reply, at) => {
      const answer = await reply;
      if (!away || batch[at]?.op !== 'park' || answer.status !== 'granted') return answer;
      throw new StoreFailure('1 of 1 replicas is away', 'unacknowledged', undefined);
    });
  const waiting = later(mutex.condition('c').await(lease, { wait: 100 }));
  await clock.advance(50);
  away = true;
  await clock.advance(500);
  expect(lease.held).toBe(false);
  away = false;
  await clock.advance(2000);
  expect([await waiting, lease.held]).toEqual([false, true]);
});

it('`maxHold` begins anew after a wait', async () => {
  const lease = await mutex.acquire({ maxHold: 5000 });
  await clock.advance(4000);
  const waiting = mutex.condition('c').await(lease, { wait: 100 });
  await clock.advance(200);
  expect(await waiting).toBe(false);
  await clock.advance(4500);
  expect(lease.held).toBe(true);
  await clock.advance(600);
  expect(lease.held).toBe(false);
});
