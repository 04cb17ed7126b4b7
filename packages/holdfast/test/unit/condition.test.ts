/**
 * Conditions in virtual time: answers that are lost, processes that freeze, and that waiting costs
 * nothing. Each promise about signals has a planted fault that breaks it.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Holder, Resource } from '../../src/engine/resource.js';
import type { Command, Op, Park, Reply } from '../../src/engine/commands.js';
import { Holdfast, type HoldfastErrorCode, type Lease, type Mutex } from '../../src/index.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
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

/** One command of a kind has another fate, the first of its kind. */
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

/** Holds, signals, releases; resolves to how many were woken. */
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
  it('asks once in a claim window, also while nobody holds', async () => {
    await sleep(mutex);
    store.batches.length = 0;
    await clock.advance(20_000);
    expect(store.batches.length).toBeGreaterThanOrEqual(19);
    expect(store.batches.length).toBeLessThanOrEqual(21);
    expect(await parkedNow()).toBe(1);
  });

  it('is found out by asking, where pushes do not arrive', async () => {
    store.pushes = false;
    const sleeping = await sleep(mutex);
    expect(await signal(others)).toBe(1);
    await clock.advance(1000);
    expect(sleeping.outcome).toBe(true);
    expect(sleeping.lease.held).toBe(true);
  });

  it('leaves no timer behind', async () => {
    const sleeping = await sleep(mutex, 2000);
    await clock.advance(2000);
    expect(sleeping.outcome).toBe(false);
    await sleeping.lease.release();
    await settle();
    expect(clock.timers('strong')).toBe(0);
  });
});

describe('an answer that is lost', () => {
  it('to giving the lock up: it is asked again, and waits once', async () => {
    once('park', 'answer lost');
    const sleeping = await sleep(mutex);
    await clock.advance(2000);
    expect(await parkedNow()).toBe(1);
    expect(await signal(others)).toBe(1);
    expect(sleeping.outcome).toBe(true);
    expect(new Set(store.seen('park').map(({ as }) => as)).size).toBe(1);
  });

  it('to giving the lock up, with a signal before it is asked again', async () => {
    once('park', 'answer lost');
    const sleeping = await sleep(mutex);
    expect(await signal(others)).toBe(1);
    await clock.advance(2000);
    expect(sleeping.outcome).toBe(true);
  });

  it('with the request: the lease is kept alive until it is asked again', async () => {
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

  it('for too long: nothing is held, and nothing waits', async () => {
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

  it('to a signal: it is sent again, and wakes one', async () => {
    const [first, second] = [await sleep(others), await sleep(others)];
    once('signal', 'answer lost');
    const signalling = signal(mutex);
    await clock.advance(1000);
    expect(await signalling).toBe(1);
    expect(store.seen('signal').map(({ seq }) => seq)).toEqual([1, 1]);
    expect([first.outcome, second.outcome]).toEqual([true, undefined]);
  });

  it('to a signal, and another behind it: each wakes one', async () => {
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

  it('to the wish to come back: it is asked again', async () => {
    const sleeping = await sleep(mutex, 500);
    once('park', 'answer lost');
    await clock.advance(2000);
    const wants = store.seen('park').map(({ want }) => want);
    expect(wants.slice(-2)).toEqual(['permits', 'permits']);
    expect(sleeping.outcome).toBe(false);
    expect(sleeping.lease.held).toBe(true);
  });

  it('to the wish to come back, and a grant: in doubt it was woken', async () => {
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

  it('to a refusal by the server: the lease is kept', async () => {
    store.ail('park', 'refused');
    const sleeping = await sleep(mutex);
    expect(sleeping.outcome).toBe('HOLDFAST_REFUSED');
    expect(sleeping.lease.held).toBe(true);
    await clock.advance(10_000);
    expect(sleeping.lease.held).toBe(true);
    expect(await sleeping.lease.release()).toBe('freed');
  });
});

/** The first who was parked is woken, and its process stands still from then on. */
async function wokenAndFrozen(): Promise<Sleeping> {
  await sleep(mutex);
  const second = await sleep(others);
  store.fate = () => 'lost';
  expect(await signal(others)).toBe(1);
  await clock.advance(5000);
  return second;
}

/** Another waits for the lock when it is given up: it signals. How many does it wake? */
async function signalAtOnce(): Promise<number> {
  const lease = await mutex.acquire();
  const signalling = signal(others);
  await settle();
  void later(mutex.condition('c').await(lease));
  return signalling;
}

/** Gives up the lease first, and is parked when everybody has had a turn. */
class TwoSteps extends MemoryStore {
  override execute(batch: readonly Command[]): Promise<Reply>[] {
    return batch.map((command) => {
      if (command.op !== 'park' || command.want !== 'signal') return this.#one(command);
      return this.#inTwo(command);
    });
  }

  async #inTwo(command: Park): Promise<Reply> {
    const { key, id, retention } = command;
    await this.#one({ op: 'release', key, id, to: '', retention });
    await settle();
    await settle();
    return this.#one(command);
  }

  #one(command: Command): Promise<Reply> {
    return super.execute([command])[0] as Promise<Reply>;
  }
}

describe('no signal is lost', () => {
  it('with a process that stands still after it was woken', async () => {
    expect((await wokenAndFrozen()).outcome).toBe(true);
  });

  it('which would be seen', async () => {
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

  it('between giving the lock up and waiting', async () => {
    expect(await signalAtOnce()).toBe(1);
  });

  it('which would be seen, too', async () => {
    const inTwoSteps = new TwoSteps(clock);
    mutex = new Holdfast(inTwoSteps, { ...options, clock }).mutex('k');
    others = new Holdfast(inTwoSteps, { ...options, clock }).mutex('k');
    expect(await signalAtOnce()).toBe(0);
  });
});
