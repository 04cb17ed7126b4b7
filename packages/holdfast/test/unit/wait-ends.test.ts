/**
 * How a wait ends: without the lock because another holder has it, or because the store does not
 * answer. No primitive may confuse the two.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Command, Reply } from '../../src/engine/commands.js';
import { Holdfast, locked } from '../../src/index.js';
import { StoreFailure } from '../../src/store/port.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const SETTINGS = { ttl: 10_000, claimWindow: 100, requestTimeout: 2000, unreachableAfter: 10_000 };

/** A call that waits `wait` ms for `k`, and its result while another holder has `k`. */
interface Call {
  readonly name: string;
  readonly call: (holdfast: Holdfast, wait: number) => Promise<unknown>;
  /** The code that it rejects with, or the value that it resolves to, as JSON. */
  readonly busy: string;
}

function lockedWork(holdfast: Holdfast, wait: number): Promise<string> {
  const decorate = locked(holdfast, 'k', { wait });
  const { value } = decorate({}, 'work', { value: async () => 'done' });
  return (value as () => Promise<string>)();
}

const lead = { fresh: () => undefined, compute: () => 1 };
const CALLS: readonly Call[] = [
  {
    name: 'acquire',
    call: (h, wait) => h.mutex('k').acquire({ wait }),
    busy: 'HOLDFAST_TIMEOUT',
  },
  { name: 'tryAcquire', call: (h, wait) => h.mutex('k').tryAcquire({ wait }), busy: 'null' },
  { name: 'run', call: (h, wait) => h.mutex('k').run(() => 1, { wait }), busy: 'HOLDFAST_TIMEOUT' },
  { name: 'locked', call: (h, wait) => lockedWork(h, wait), busy: 'HOLDFAST_TIMEOUT' },
  {
    name: 'allOf.acquire',
    call: (h, wait) => h.allOf(['j', 'k']).acquire({ wait }),
    busy: 'HOLDFAST_TIMEOUT',
  },
  {
    name: 'allOf.tryAcquire',
    call: (h, wait) => h.allOf(['j', 'k']).tryAcquire({ wait }),
    busy: 'null',
  },
  {
    name: 'schedule.runOnce',
    call: async (h, wait) => {
      const schedule = h.schedule('k', { atLeast: 0 });
      return ((await schedule.runOnce(() => 1, { wait })) as { reason?: string }).reason;
    },
    busy: '"busy"',
  },
  {
    name: 'election.campaign',
    call: (h, wait) => h.election('k').campaign({ wait }),
    busy: 'HOLDFAST_TIMEOUT',
  },
  {
    name: 'ownerLocks.tryLock',
    call: (h, wait) => h.ownerLocks.tryLock('k', 'me', 5000, { wait }),
    busy: 'null',
  },
  {
    name: 'ownerLocks.lock',
    call: (h, wait) => h.ownerLocks.lock('k', 'me', 5000, { wait }),
    busy: 'HOLDFAST_TIMEOUT',
  },
  {
    name: 'singleFlight.run',
    call: (h, wait) => h.singleFlight('flight').run(lead, { wait }),
    busy: 'HOLDFAST_TIMEOUT',
  },
  {
    name: 'latch.await',
    call: (h, wait) => h.latch('latch', { count: 1 }).await({ wait }),
    busy: 'HOLDFAST_TIMEOUT',
  },
  {
    name: 'barrier.await',
    call: (h, wait) => h.barrier('barrier', { parties: 2 }).await({ wait }),
    busy: 'HOLDFAST_TIMEOUT',
  },
];

let clock: VirtualClock;
let store: WatchedStore;
let holder: Holdfast;
let caller: Holdfast;

beforeEach(async () => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holder = new Holdfast(store, { ...SETTINGS, clock });
  caller = new Holdfast(store, { ...SETTINGS, clock });
});

/** Another process holds all keys of the calls. */
async function occupy(): Promise<void> {
  const held = holder.mutex('k').acquire();
  void holder.singleFlight('flight').run({
    fresh: () => undefined,
    compute: () => new Promise(() => undefined),
  });
  await clock.advance(10);
  await held;
}

interface Ended {
  readonly how: string;
  readonly cause: string;
  readonly after: number;
}

/** The result of a call, and its duration in ms. */
function ending(promise: Promise<unknown>): { ended: Ended | undefined } {
  const start = clock.now();
  const seen: { ended: Ended | undefined } = { ended: undefined };
  const end = (how: string, cause: unknown): void => {
    const text = cause instanceof Error ? cause.message : '';
    seen.ended = { how, cause: text, after: clock.now() - start };
  };
  promise.then(
    (value) => end(JSON.stringify(value ?? null), undefined),
    (error: { code?: string; cause?: unknown }) => end(String(error.code), error.cause),
  );
  return seen;
}

/** Delays the reply to every command of one instance by `ms`. */
const slow = (ms: number): void => {
  store.fate = () => ms;
};

describe.each(CALLS.map((one) => [one.name, one] as const))('%s', (_, { call, busy }) => {
  it('reports another holder when the store says so', async () => {
    await occupy();
    const seen = ending(call(caller, 200));
    await clock.advance(300);
    expect(seen.ended).toMatchObject({ how: busy, after: 200 });
  });

  it('reports an unreachable store if it has never answered', async () => {
    store.fate = () => 'lost';
    const seen = ending(call(caller, 200));
    await clock.advance(2500);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_UNREACHABLE' });
    expect(seen.ended?.cause).toContain('no reply from the store within 2000 ms');
  });

  it('reports it at the end of a longer wait, with its cause', async () => {
    store.fate = () => 'lost';
    const seen = ending(call(caller, 5000));
    await clock.advance(5001);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_UNREACHABLE' });
    expect(seen.ended?.cause).toContain('no reply from the store within');
  });

  it('reports it when connections are refused', async () => {
    store.fate = () => 'failed';
    const seen = ending(call(caller, 200));
    await clock.advance(201);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_UNREACHABLE' });
    expect(seen.ended?.cause).not.toBe('');
  });

  it('reports it when the server answers that it is loading', async () => {
    store.execute = (batch: readonly Command[]): Promise<Reply>[] =>
      batch.map(() => Promise.reject(new StoreFailure('LOADING its data', 'transient', undefined)));
    const seen = ending(call(caller, 200));
    await clock.advance(201);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_UNREACHABLE' });
    expect(seen.ended?.cause).toContain('LOADING');
  });

  it('reports it when the store stopped answering during the wait', async () => {
    await occupy();
    const seen = ending(call(caller, 4000));
    await clock.advance(500);
    store.fate = () => 'lost';
    await clock.advance(3501);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_UNREACHABLE', after: 4000 });
    expect(seen.ended?.cause).not.toBe('');
  });

  it('reports another holder if the store stopped answering and then answers again', async () => {
    await occupy();
    const seen = ending(call(caller, 6000));
    await clock.advance(500);
    store.fate = () => 'lost';
    await clock.advance(3000);
    store.heal();
    await clock.advance(2501);
    expect(seen.ended).toMatchObject({ how: busy, after: 6000 });
  });

  it('awaits the first reply although the wait ends before it, and then ends', async () => {
    await occupy();
    slow(80);
    const seen = ending(call(caller, 10));
    await clock.advance(70);
    expect(seen.ended).toBeUndefined();
    await clock.advance(1000);
    expect(seen.ended).toMatchObject({ how: busy });
    // No state of the call remains.
    store.heal();
    await clock.advance(1000);
    const looking = holder.inspect('k');
    await clock.advance(10);
    expect((await looking)?.waiterCount).toBe(0);
  });

  it('leaves no timer that keeps the process alive', async () => {
    store.fate = () => 'lost';
    const seen = ending(call(caller, 200));
    await clock.advance(2500);
    store.heal();
    await clock.advance(200);
    expect(seen.ended).toBeDefined();
    expect(clock.timers('strong')).toBe(0);
  });
});

describe('a wait that is shorter than a round trip', () => {
  const free = CALLS.filter(({ name }) => !/^(latch|barrier)/.test(name));

  it.each(free.map((one) => [one.name, one] as const))('%s gets a free lock', async (_, one) => {
    slow(40);
    const seen = ending(one.call(caller, 10));
    await clock.advance(500);
    expect(seen.ended).toBeDefined();
    expect(seen.ended?.how).not.toBe(one.busy);
    expect(seen.ended?.how).not.toMatch(/^HOLDFAST/);
  });

  it('passes an open latch', async () => {
    const latch = caller.latch('latch', { count: 1 });
    const counted = latch.countDown();
    await clock.advance(10);
    await counted;
    slow(40);
    const seen = ending(latch.await({ wait: 10 }));
    await clock.advance(100);
    expect(seen.ended).toMatchObject({ how: 'null', after: 40 });
  });

  it('opens a barrier as the last participant, and does not break it for the others', async () => {
    const first = ending(holder.barrier('barrier', { parties: 2 }).await());
    await clock.advance(10);
    slow(40);
    const second = ending(caller.barrier('barrier', { parties: 2 }).await({ wait: 60 }));
    await clock.advance(500);
    expect(first.ended?.how).toContain('"index":0');
    expect(second.ended?.how).toContain('"index":1');
  });

  it('ends at once when the caller aborts', async () => {
    slow(80);
    const controller = new AbortController();
    const seen = ending(caller.mutex('k').acquire({ wait: 10, signal: controller.signal }));
    await clock.advance(20);
    controller.abort();
    await clock.advance(1);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_ABORTED' });
    await clock.advance(1000);
    const looking = holder.inspect('k');
    await clock.advance(100);
    expect(await looking).toBeNull();
  });
});

describe('a wait of about two round trips', () => {
  const ROUND_TRIP = 40;
  /** A new process: its replies and its wake connection take their time. */
  const far = (): void => {
    caller = new Holdfast(store, { ...SETTINGS, claimWindow: 1000, clock });
    slow(ROUND_TRIP);
    const listen = WatchedStore.prototype.listen.bind(store);
    store.listen = async (...given) => {
      await new Promise<void>((resolve) => {
        clock.after(3 * ROUND_TRIP, resolve, true);
      });
      return listen(...given);
    };
  };
  const CALLERS = {
    mutex: (wait: number) => caller.mutex('k').tryAcquire({ wait }),
    'mutex without renewal': (wait: number) => caller.mutex('k').tryAcquire({ wait, renew: false }),
    'writer of a read-write lock': (wait: number) => caller.rwLock('k').write.tryAcquire({ wait }),
  };

  it.each(Object.entries(CALLERS))('%s: gets a lock that became free', async (name, call) => {
    const held = name.startsWith('writer') ? holder.rwLock('k').read : holder.mutex('k');
    for (const wait of [80, 100, 120, 150]) {
      store.heal();
      const lease = await clock.until(held.acquire());
      far();
      const seen = ending(call(wait));
      await clock.advance(ROUND_TRIP + 10);
      const released = lease.release();
      await clock.advance(1000);
      await released;
      expect(seen.ended?.how).not.toBe('null');
      // one round trip more than the wait at most
      expect(seen.ended?.after).toBeLessThanOrEqual(wait + ROUND_TRIP + 1);
      await clock.until(caller.forceRelease('k'));
    }
  });

  it('ends one round trip after its limit if the lock is held', async () => {
    await occupy();
    far();
    const seen = ending(caller.mutex('k').tryAcquire({ wait: 100 }));
    await clock.advance(2000);
    expect(seen.ended).toMatchObject({ how: 'null', after: 140 });
  });

  it('ends at its limit once pushes arrive', async () => {
    await occupy();
    far();
    const seen = ending(caller.mutex('k').tryAcquire({ wait: 400 }));
    await clock.advance(2000);
    expect(seen.ended).toMatchObject({ how: 'null', after: 400 });
  });

  it('reports a store that stopped answering', async () => {
    await occupy();
    far();
    const seen = ending(caller.mutex('k').tryAcquire({ wait: 100 }));
    await clock.advance(ROUND_TRIP + 10);
    store.fate = () => 'lost';
    await clock.advance(3000);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_UNREACHABLE' });
  });
});

describe('a wait at a gate that ends while no push can reach it', () => {
  // without pushes the process polls after 250 ms, so no poll comes before the ends below
  const waits = { wait: 200 };
  const gates = {
    latch: [
      () => caller.latch('gate', { count: 1 }).await(waits),
      () => holder.latch('gate', { count: 1 }).countDown(),
    ],
    barrier: [
      () => caller.barrier('gate', { parties: 2 }).await(waits),
      () => holder.barrier('gate', { parties: 2 }).await(),
    ],
  } as const;

  beforeEach(() => {
    store.pushes = false;
    caller = new Holdfast(store, { ...SETTINGS, claimWindow: 1000, clock });
  });

  it.each(Object.entries(gates))('%s: passes if it has opened', async (_, [await_, open]) => {
    const seen = ending(await_());
    await clock.advance(50);
    const opened = ending(open());
    await clock.advance(200);
    expect(opened.ended?.how).not.toMatch(/^HOLDFAST/);
    expect(seen.ended?.how).not.toMatch(/^HOLDFAST/);
    expect(seen.ended?.after).toBe(200);
  });

  it.each(Object.entries(gates))('%s: ends if it is closed', async (_, [await_]) => {
    const seen = ending(await_());
    await clock.advance(201);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_TIMEOUT', after: 200 });
    expect(store.seen('watch').length).toBeGreaterThan(0);
  });

  it.each(Object.entries(gates))('%s: reports a silent store', async (_, [await_]) => {
    const seen = ending(await_());
    await clock.advance(50);
    store.fate = () => 'lost';
    await clock.advance(3000);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_UNREACHABLE' });
  });
});

describe('condition.await', () => {
  it('never reports a missing signal while the store is silent', async () => {
    const mutex = caller.mutex('k');
    const acquiring = mutex.acquire();
    await clock.advance(10);
    const seen = ending(mutex.condition('c').await(await acquiring, { wait: 200 }));
    await clock.advance(100);
    store.fate = () => 'lost';
    await clock.advance(9000);
    expect(seen.ended).toBeUndefined();
    await clock.advance(3000);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_UNREACHABLE' });
  });
});
