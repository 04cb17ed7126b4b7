/** Latches and barriers with a virtual clock: limits, lost replies and bad input. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type HoldfastOptions } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;

function open(options: HoldfastOptions = {}): Holdfast {
  return new Holdfast(store, { clock, ttl: 9000, ...options });
}

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
});

describe('refuses bad input at the call', () => {
  const latch = (): ReturnType<Holdfast['latch']> => open().latch('k', { count: 1 });
  const barrier = (): ReturnType<Holdfast['barrier']> => open().barrier('k', { parties: 1 });
  const calls: [name: string, call: () => unknown, option: string][] = [
    ['a key', () => open().latch('', { count: 1 }), 'key'],
    ['no count', () => open().latch('k', {} as never), 'count'],
    ['no options', () => open().latch('k', undefined as never), 'count'],
    ['a count', () => open().latch('k', { count: 100_001 }), 'count'],
    ['a ttl', () => open().latch('k', { count: 1, ttl: 9 }), 'ttl'],
    ['a retention', () => open().latch('k', { count: 1, retention: 2999 }), 'retention'],
    ['an unknown option', () => open().latch('k', { count: 1, parties: 1 } as never), 'parties'],
    ['a count of 0', () => latch().countDown(0), 'by'],
    ['a wait', () => latch().await({ wait: -1 }), 'wait'],
    ['a signal', () => latch().await({ signal: 1 as never }), 'signal'],
    ['no parties', () => open().barrier('k', {} as never), 'parties'],
    ['no options of a barrier', () => open().barrier('k', undefined as never), 'parties'],
    ['parties', () => open().barrier('k', { parties: 1.5 }), 'parties'],
    ['a ttl of a barrier', () => open().barrier('k', { parties: 1, ttl: 1e9 }), 'ttl'],
    ['a wait of a barrier', () => barrier().await({ wait: -1 }), 'wait'],
    ['an option of await', () => barrier().await({ index: 1 } as never), 'index'],
  ];

  it.each(calls)('%s', async (_, call, option) => {
    const called = (async () => call())();
    expect((await failure(called, 'HOLDFAST_BAD_OPTION')).option).toBe(option);
    expect(store.batches).toEqual([]);
  });
});

describe('a participant that falls silent', () => {
  it('breaks its generation after its ttl, for the others and for itself', async () => {
    // Its requests are lost from here on, as if its process were frozen.
    const silent = open().barrier('k', { parties: 3, ttl: 3000 });
    const lively = open().barrier('k', { parties: 3, ttl: 9000 });
    const frozen = later(silent.await());
    await clock.advance(0);
    const [id] = store.seen('arrive').map((one) => one.id);
    store.fate = (one) => (one.op === 'watch' && one.ids.includes(id ?? '') ? 'lost' : 'answered');
    const others = later(lively.await());
    let told = 0;
    void others.catch(() => {
      told = clock.now();
    });
    const from = clock.now();
    await clock.advance(2990);
    expect(told).toBe(0);
    await clock.advance(1010);
    await failure(others, 'HOLDFAST_BROKEN');
    expect(told - from).toBeLessThanOrEqual(3001);
    store.heal();
    await clock.advance(10_000);
    await failure(frozen, 'HOLDFAST_BROKEN');
  });

  it('is not a participant that only waits for a long time', async () => {
    const barrier = open().barrier('k', { parties: 2, ttl: 3000 });
    const first = barrier.await();
    await clock.advance(100_000);
    const passages = await Promise.all([first, barrier.await()]);
    expect(passages.map(({ index }) => index)).toEqual([0, 1]);
    await clock.advance(60_000);
    expect(clock.timers()).toBe(0);
  });
});

describe('a lost reply', () => {
  it('counts once, also if the barrier opened meanwhile', async () => {
    const [one, other] = [open(), open()].map((holdfast) => holdfast.barrier('k', { parties: 2 }));
    store.ail('arrive', 'answer lost');
    const first = one?.await();
    await clock.advance(100);
    store.heal();
    await other?.await();
    await clock.advance(5000);
    expect((await first)?.index).toBe(0);
    expect(await other?.waiting()).toBe(0);
  });

  it('is an error if the store no longer knows whether it counted', async () => {
    const latch = open().latch('k', { count: 5 });
    const other = open().latch('k', { count: 5 });
    store.ail('arrive', 'answer lost');
    const counts = later(latch.countDown());
    await clock.advance(100);
    store.heal();
    await other.reset();
    await other.reset();
    await clock.advance(5000);
    await failure(counts, 'HOLDFAST_UNCERTAIN');
    expect(await other.count()).toBe(5);
  });

  it('for too long ends the call, and reports that it may have counted', async () => {
    const latch = open().latch('k', { count: 5 });
    await latch.countDown();
    store.ail('arrive', 'lost');
    const counts = later(latch.countDown());
    await clock.advance(20_000);
    await failure(counts, 'HOLDFAST_UNCERTAIN');
    expect(await latch.count()).toBe(4);
  });
});

describe('a poll without an answer', () => {
  const quiet = { claimWindow: 20_000, retention: 600_000, unreachableAfter: 300_000 };
  // a call on a new latch first asks for the present generation
  const failPolls = (): void => {
    store.fate = (one) => (one.op === 'watch' && one.generation !== 0 ? 'failed' : 'answered');
  };

  it('is repeated soon: the push may be lost too', async () => {
    const latch = open(quiet).latch('k', { count: 1 });
    const waits = latch.await();
    await clock.advance(100);
    store.deaf = true;
    failPolls();
    await open().latch('k', { count: 1 }).countDown();
    // the next poll comes after the claim window, and fails
    await clock.advance(21_000);
    store.heal();
    let passed = false;
    void waits.then(() => {
      passed = true;
    });
    await clock.advance(5000);
    expect(passed).toBe(true);
    await waits;
  });

  it('is repeated at growing intervals', async () => {
    void later(open(quiet).latch('k', { count: 1 }).await());
    await clock.advance(100);
    failPolls();
    await clock.advance(20_000);
    const before = store.seen('watch').length;
    await clock.advance(20_000);
    const polls = store.seen('watch').length - before;
    expect(polls).toBeGreaterThan(3);
    expect(polls).toBeLessThan(15);
  });
});

it('a gate without pushes opens within a quarter of the claim window', async () => {
  store.pushes = false;
  const latch = open().latch('k', { count: 1 });
  let passed = false;
  const waits = latch.await().then(() => {
    passed = true;
  });
  await clock.advance(10_000);
  await open().latch('k', { count: 1 }).countDown();
  await settle();
  expect(passed).toBe(false);
  await clock.advance(250);
  await waits;
});

describe('an arrival that comes late', () => {
  const two = { count: 2 };
  /** The first request of a kind is lost from now on; it is repeated after `store.heal()`. */
  const lose = (op: 'arrive' | 'watch'): void => {
    store.fate = (one) => (one.op === op && one.count > 0 ? 'lost' : 'answered');
  };

  describe.each<['reset' | 'delete']>([['reset'], ['delete']])('after a %s', (ends) => {
    it.each<['known' | 'first', 'arrive' | 'watch']>([
      ['known', 'arrive'],
      ['first', 'watch'],
      ['first', 'arrive'],
    ])('does not count: a call of a %s generation whose %s was lost', async (known, op) => {
      const three = { count: 3 };
      const [latch, other] = [open().latch('k', three), open().latch('k', three)];
      await other.countDown();
      if (known === 'known') await latch.countDown();
      lose(op);
      const late = later(latch.countDown());
      await clock.advance(300);
      store.heal();
      await other[ends]();
      await clock.advance(20_000);
      await failure(late, 'HOLDFAST_BROKEN');
      expect(await other.count()).toBe(3);
      // a later call counts
      expect(await latch.countDown()).toBe(2);
      expect(await other.countDown()).toBe(1);
    });
  });

  it('does not count if the reset came between its two requests', async () => {
    const [latch, other] = [open().latch('k', two), open().latch('k', two)];
    await other.countDown();
    const late = later(latch.countDown());
    const reset = other.reset();
    await Promise.all([reset, late.catch(() => undefined)]);
    await clock.advance(20_000);
    const counted = await late.catch(() => 'broken');
    expect(['broken', 0]).toContain(counted);
    expect(await other.count()).toBe(2);
  });

  it('counts in the first generation of a gate, however late', async () => {
    const latches = [open().latch('k', two), open().latch('k', two)];
    store.fate = () => 'lost';
    const counts = latches.map((latch) => latch.countDown());
    await clock.advance(300);
    store.heal();
    await clock.advance(20_000);
    expect(new Set(await Promise.all(counts))).toEqual(new Set([0, 1]));
  });

  it('counts in a generation that began before the call and is new to its object', async () => {
    const [latch, other] = [open().latch('k', two), open().latch('k', two)];
    await latch.countDown();
    await clock.advance(5000);
    await other.reset();
    expect(await latch.countDown()).toBe(1);
    await clock.advance(5000);
    await other.delete();
    expect(await latch.countDown()).toBe(1);
  });

  it('does not pass with the next round of a barrier whose round broke', async () => {
    const barrier = open().barrier('k', { parties: 2 });
    const other = open().barrier('k', { parties: 2 });
    const stop = new AbortController();
    const waiting = later(other.await({ signal: stop.signal }));
    await clock.advance(0);
    lose('arrive');
    const late = later(barrier.await());
    await clock.advance(300);
    store.heal();
    stop.abort();
    await failure(waiting, 'HOLDFAST_ABORTED');
    await clock.advance(0);
    const next = later(other.await());
    await clock.advance(20_000);
    await failure(late, 'HOLDFAST_BROKEN');
    expect(await other.waiting()).toBe(1);
    await barrier.await();
    await next;
  });

  it('waits for the next round of a barrier that opened without it', async () => {
    const [barrier, one, other] = [1, 2, 3].map(() => open().barrier('k', { parties: 2 }));
    const first = later(one?.await() as Promise<unknown>);
    await clock.advance(0);
    lose('arrive');
    const late = barrier?.await();
    await clock.advance(300);
    store.heal();
    await Promise.all([first, other?.await()]);
    await clock.advance(20_000);
    expect(await one?.waiting()).toBe(1);
    const [{ index } = { index: -1 }] = await Promise.all([late, other?.await()]);
    expect(index).toBe(0);
  });
});

describe('another count or number of parties', () => {
  it('of a caller that aborts breaks no round', async () => {
    const [one, other] = [open().barrier('k', { parties: 2 }), open().barrier('k', { parties: 2 })];
    const stop = new AbortController();
    // the barrier has no arrivals yet, so it accepts the other number first
    store.fate = (command) =>
      command.op === 'arrive' && command.count === 3 ? 'lost' : 'answered';
    const foreign = later(open().barrier('k', { parties: 3 }).await({ signal: stop.signal }));
    await clock.advance(0);
    const waiting = one.await();
    await clock.advance(100);
    stop.abort();
    await failure(foreign, 'HOLDFAST_ABORTED');
    store.heal();
    await clock.advance(1000);
    expect(store.seen('endGeneration')).toHaveLength(1);
    expect(await one.waiting()).toBe(1);
    await Promise.all([waiting, other.await()]);
  });

  it('is refused by every call on a gate in use', async () => {
    const latch = open().latch('k', { count: 2 });
    await latch.countDown();
    const foreign = open().latch('k', { count: 3 });
    for (const call of ['countDown', 'await', 'count', 'reset'] as const)
      await failure(foreign[call](), 'HOLDFAST_MISMATCH');
    expect(await latch.count()).toBe(1);
    const barrier = open().barrier('b', { parties: 2 });
    void later(barrier.await());
    await clock.advance(0);
    const others = open().barrier('b', { parties: 3 });
    for (const call of ['await', 'waiting', 'reset'] as const)
      await failure(others[call](), 'HOLDFAST_MISMATCH');
    expect(await barrier.waiting()).toBe(1);
  });
});

it('a wait of 0 at a barrier passes as the last party, or breaks the round of others', async () => {
  const [one, other] = [open().barrier('k', { parties: 2 }), open().barrier('k', { parties: 2 })];
  const waiting = one.await();
  await clock.advance(0);
  expect(await other.await({ wait: 0 })).toMatchObject({ index: 1 });
  await waiting;
  await failure(other.await({ wait: 0 }), 'HOLDFAST_TIMEOUT');
  await clock.advance(0);
  expect(await one.waiting()).toBe(0);
});

it('the ttl and the retention of a latch are the longest that its callers gave', async () => {
  const long = { count: 3, ttl: 60_000, retention: 60_000 };
  const short = { count: 3, ttl: 1000, retention: 3000 };
  await open().latch('k', long).countDown();
  await open().latch('k', short).countDown();
  await clock.advance(30_000);
  expect(await open().latch('k', short).countDown()).toBe(0);
  await clock.advance(30_000);
  await open().latch('k', short).await({ wait: 0 });
});
