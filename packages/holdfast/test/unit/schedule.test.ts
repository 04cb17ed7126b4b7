/** Scheduled work with a virtual clock: which machine runs, and the time between runs. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command, Reply } from '../../src/engine/commands.js';
import { Holdfast, type HoldfastOptions, type ScheduleOptions } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const TTL = 9000;

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;

function open(options: HoldfastOptions = {}): Holdfast {
  return new Holdfast(store, { clock, ttl: TTL, ...options });
}

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = open();
});
afterEach(() => {
  store.heal();
});

describe('refuses bad input at the call', () => {
  const schedule = (more: object = {}): ReturnType<Holdfast['schedule']> =>
    holdfast.schedule('k', { atLeast: 100, ...more });
  const run = (options: object): unknown => schedule().runOnce(() => 1, options);
  const calls: [name: string, call: () => unknown, option: string][] = [
    ['a key', () => holdfast.schedule('', { atLeast: 1 }), 'key'],
    ['no options', () => holdfast.schedule('k', undefined as never), 'atLeast'],
    ['no atLeast', () => holdfast.schedule('k', {} as ScheduleOptions), 'atLeast'],
    ['a negative atLeast', () => schedule({ atLeast: -1 }), 'atLeast'],
    ['atMost', () => schedule({ atMost: 9 }), 'atMost'],
    ['atMost below atLeast', () => schedule({ atMost: 99 }), 'atMost'],
    ['retention', () => schedule({ retention: 0 }), 'retention'],
    ['afterFailure', () => schedule({ afterFailure: 'retry' }), 'afterFailure'],
    ['an unknown option', () => schedule({ fair: true }), 'fair'],
    ['work', () => schedule().runOnce(undefined as never), 'work'],
    ['a slot', () => run({ slot: '' }), 'slot'],
    ['a slot that is not text', () => run({ slot: 7 }), 'slot'],
    ['a slot that is too long', () => run({ slot: 'x'.repeat(1018) }), 'slot'],
    ['a wait', () => run({ slot: 'a', wait: -1 }), 'wait'],
    ['a signal', () => run({ slot: 'a', signal: 1 }), 'signal'],
    ['an option of the lock', () => run({ ttl: 100 }), 'ttl'],
  ];

  it.each(calls)('%s', async (_, call, option) => {
    const called = (async () => call())();
    expect((await failure(called, 'HOLDFAST_BAD_OPTION')).option).toBe(option);
    expect(store.batches).toEqual([]);
  });
});

/** Fires on one machine. Returns whether it ran. */
type Fire = (machine: Holdfast) => Promise<boolean>;

const scheduled =
  (options: ScheduleOptions, slot?: string): Fire =>
  async (machine) => {
    const firing = slot === undefined ? {} : { slot };
    return (await machine.schedule('job', options).runOnce(() => 1, firing)).ran;
  };

/** The runs of two machines that fire `apart` from each other. The first machine dies. */
async function twoFire(fire: Fire, apart: number, how: 'lives' | 'exits'): Promise<number> {
  const first = open();
  const firing = fire(first);
  await settle();
  const ran = [await firing];
  if (how === 'exits') await first.close();
  await clock.advance(apart);
  const other = fire(open());
  await clock.advance(1);
  ran.push(await other);
  return ran.filter(Boolean).length;
}

describe('the minimum time', () => {
  const minute: ScheduleOptions = { atLeast: 60_000 };

  it.each(['lives', 'exits'] as const)(
    'allows one run of two that fire within it: %s',
    async (how) => {
      for (const apart of [0, 1, 9000, 30_000, 59_990]) {
        store = new WatchedStore(clock);
        expect([apart, await twoFire(scheduled(minute), apart, how)]).toEqual([apart, 1]);
      }
    },
  );

  it('ends on time, also if the process is gone', async () => {
    expect(await twoFire(scheduled(minute), 60_010, 'exits')).toBe(2);
  });

  it('that is shorter than a ttl ends on time if the process lives', async () => {
    expect(await twoFire(scheduled({ atLeast: 500 }), 510, 'lives')).toBe(2);
  });

  it('that is shorter than a ttl ends within the ttl if the process is gone', async () => {
    expect(await twoFire(scheduled({ atLeast: 500 }), 510, 'exits')).toBe(1);
    store = new WatchedStore(clock);
    expect(await twoFire(scheduled({ atLeast: 500 }), TTL, 'exits')).toBe(2);
  });

  it('and the test detects a shorter one: a mutex allows both runs', async () => {
    const careless: Fire = (machine) => machine.mutex('job').run(() => true);
    expect(await twoFire(careless, 1, 'lives')).toBe(2);
  });

  it('and the test detects that the store does not keep it: both run', async () => {
    /** A broken variant: reports that it extended a lease, but did not. */
    class Lying extends WatchedStore {
      override execute(batch: readonly Command[]): Promise<Reply>[] {
        const short = batch.map((one) => (one.op === 'renew' ? { ...one, ttl: 1 } : one));
        return super.execute(short);
      }
    }
    store = new Lying(clock);
    expect(await twoFire(scheduled(minute), 30_000, 'exits')).toBe(2);
  });

  it('holds for a process that is killed during its work', async () => {
    void holdfast.schedule('job', minute).runOnce(() => new Promise(() => undefined));
    await clock.advance(10);
    store.ail('renew', 'lost');
    await clock.advance(59_000);
    expect(await scheduled(minute)(open())).toBe(false);
    await clock.advance(1100);
    expect(await scheduled({ atLeast: 0 })(open())).toBe(true);
  });
});

describe('the maximum time', () => {
  it('ends the lock of work that hangs, and aborts its signal', async () => {
    let signal: AbortSignal | undefined;
    const options = { atLeast: 0, atMost: 20_000 };
    void later(
      holdfast.schedule('job', options).runOnce((run) => {
        signal = run.signal;
        return new Promise(() => undefined);
      }),
    );
    await clock.advance(19_990);
    expect(signal?.aborted).toBe(false);
    expect(await scheduled(options)(open())).toBe(false);
    await clock.advance(300);
    expect(signal?.reason).toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(await scheduled(options)(open())).toBe(true);
  });

  it('is by default not below the minimum time', async () => {
    const twoHours = scheduled({ atLeast: 7_200_000 });
    expect(await twoHours(open())).toBe(true);
    await clock.advance(7_100_000);
    expect(await twoHours(open())).toBe(false);
    await clock.advance(200_000);
    expect(await twoHours(open())).toBe(true);
  });

  it('may be equal to the minimum time', async () => {
    expect(await twoFire(scheduled({ atLeast: 20_000, atMost: 20_000 }), 19_990, 'exits')).toBe(1);
  });
});

describe('a slot', () => {
  const hour: ScheduleOptions = { atLeast: 0, retention: 3_600_000 };

  it.each(['lives', 'exits'] as const)(
    'has one run while the store remembers it: %s',
    async (how) => {
      for (const apart of [0, 1, 60_000, 3_599_000]) {
        store = new WatchedStore(clock);
        expect([apart, await twoFire(scheduled(hour, 's'), apart, how)]).toEqual([apart, 1]);
      }
    },
  );

  it('is forgotten after that', async () => {
    expect(await twoFire(scheduled(hour, 's'), 3_600_001, 'exits')).toBe(2);
  });

  it('without its name has two runs, and the test detects it', async () => {
    expect(await twoFire(scheduled(hour), 60_000, 'exits')).toBe(2);
  });
});

describe('after a run', () => {
  it('no timer and no lease remain', async () => {
    const schedule = holdfast.schedule('job', { atLeast: 500, retention: 1000 });
    await schedule.runOnce(() => 1, { slot: 's' });
    expect(clock.timers('strong')).toBe(0);
    await clock.advance(TTL + 10_000);
    expect(clock.timers()).toBe(0);
    expect(await holdfast.inspect('job')).toBeNull();
    expect(await holdfast.inspect('job#s')).toBeNull();
    await schedule.runOnce(() => 1);
    await holdfast.close();
    expect(clock.timers()).toBe(0);
  });

  it('a late reply does not cause a second release', async () => {
    store.ail('acquire', 3000);
    const schedule = holdfast.schedule('job', { atLeast: 60_000 });
    const running = schedule.runOnce(() => 1, { wait: 20_000 });
    await clock.advance(2001);
    store.heal();
    await clock.advance(500);
    expect(await running).toMatchObject({ ran: true });
    await clock.advance(5000);
    expect((await holdfast.inspect('job'))?.holders).toHaveLength(1);
  });
});

describe('a silent store', () => {
  it('that does not answer before the work begins: the work does not begin', async () => {
    const minute = { atLeast: 60_000 };
    let ran = false;
    const work = (): void => {
      ran = true;
    };
    store.ail('renew', 'lost');
    const firing = later(holdfast.schedule('job', minute).runOnce(work));
    await clock.advance(20_000);
    await failure(firing, 'HOLDFAST_UNCERTAIN');
    store.heal();
    await clock.advance(20_000);
    expect(ran).toBe(false);
    expect(await scheduled(minute)(open())).toBe(true);
  });

  it('that answers late: the work runs after the answer', async () => {
    store.ail('renew', 'answer lost');
    const firing = holdfast.schedule('job', { atLeast: 60_000 }).runOnce(() => 1);
    await clock.advance(2000);
    store.heal();
    await clock.advance(5000);
    expect(await firing).toMatchObject({ ran: true });
  });
});

it('a run that ends well while its instance closes has done its slot', async () => {
  let finish = (): void => undefined;
  const work = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const schedule = holdfast.schedule('k', { atLeast: 0 });
  const running = schedule.runOnce(() => work, { slot: 's' });
  await settle();
  const closing = holdfast.close();
  await clock.advance(10);
  finish();
  expect(await running).toMatchObject({ ran: true });
  await clock.advance(10);
  await closing;
  const found = open()
    .schedule('k', { atLeast: 0 })
    .runOnce(() => 1, { slot: 's' });
  expect(await found).toMatchObject({ ran: false, reason: 'slot-taken', slot: 'done' });
});

describe('a slot that runs again after its retention', () => {
  const RETENTION = 20_000;
  const options: ScheduleOptions = { atLeast: 0, retention: RETENTION };
  const run = (work: () => unknown): Promise<unknown> =>
    holdfast.schedule('job', options).runOnce(work, { slot: 's' });
  const slotNow = async (): Promise<unknown> => {
    const schedule = open().schedule('job', options);
    const skipped = await schedule.runOnce(() => 1, { slot: 's' });
    return 'slot' in skipped ? skipped.slot : undefined;
  };
  const lasting =
    (ms: number, end: () => void): (() => Promise<void>) =>
    async () => {
      await new Promise<void>((resolve) => void clock.after(ms, resolve));
      end();
    };
  const fine = (): void => undefined;
  const broken = (): void => {
    throw new Error('broken');
  };

  const ends = { done: fine, failed: broken };

  it.each([
    ['done', 'failed'],
    ['failed', 'done'],
    ['done', 'done'],
    ['failed', 'failed'],
  ] as const)('has its state: %s, then %s', async (first, second) => {
    const one = later(run(lasting(15_000, ends[first])));
    await clock.advance(15_010);
    await one.catch(fine);
    expect(await slotNow()).toBe(first);
    await clock.advance(RETENTION - 15_010 - 10);
    expect(await slotNow()).toBe(first);
    await clock.advance(20);
    const two = later(run(lasting(100, ends[second])));
    await clock.advance(50);
    expect(await slotNow()).toBe('running');
    await clock.advance(60);
    await two.catch(fine);
    expect(await slotNow()).toBe(second);
    await clock.advance(RETENTION - 200);
    expect(await slotNow()).toBe(second);
  });

  it('also if the result of the first run is still there', async () => {
    const warned: unknown[] = [];
    holdfast = open({ onWarning: ({ code }) => warned.push(code) });
    store.ail('acquire', 40);
    const one = run(lasting(RETENTION - 50, fine));
    await clock.advance(RETENTION + 80);
    await one;
    store.heal();
    const two = later(run(lasting(1000, broken)));
    await clock.advance(5);
    expect(await slotNow()).toBe('running');
    await clock.advance(1000);
    await two.catch(fine);
    expect(await slotNow()).toBe('failed');
    expect(warned).toEqual([]);
  });
});

it('a slot whose state the store does not tell is not called missed', async () => {
  const schedule = (one: Holdfast): ReturnType<Holdfast['schedule']> =>
    one.schedule('k', { atLeast: 0 });
  let finish: () => void = () => undefined;
  const running = schedule(open()).runOnce(
    () => new Promise<void>((resolve) => void (finish = resolve)),
    { slot: 'other' },
  );
  await settle();
  // control: it is answered
  const told = schedule(open()).runOnce(() => 1, { slot: 's' });
  await clock.advance(1000);
  expect(await told).toMatchObject({ ran: false, reason: 'busy', slot: 'missed' });
  let looks = 0;
  store.fate = ({ op }) => (op === 'inspect' && (looks += 1) > 1 ? 'lost' : 'answered');
  const untold = schedule(open()).runOnce(() => 1, { slot: 's' });
  await clock.advance(10_000);
  expect(await untold).toEqual({ ran: false, reason: 'busy', holder: null, slot: undefined });
  store.heal();
  finish();
  expect(await running).toMatchObject({ ran: true });
});
