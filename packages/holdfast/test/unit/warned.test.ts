/** Warnings of what endangers leases; each has a control in which nothing is told. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type HoldfastOptions, type HoldfastWarning } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { of, record } from '../support/channels.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const SETTINGS = { ttl: 10_000, claimWindow: 100, longWait: Infinity };

let clock: VirtualClock;
let store: WatchedStore;
let warnings: HoldfastWarning[];
let one: Holdfast;
let other: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  warnings = [];
  one = make();
  other = new Holdfast(store, { ...SETTINGS, clock });
});

function make(options: HoldfastOptions = {}): Holdfast {
  const onWarning = (warning: HoldfastWarning): void => {
    // these tests leave leases behind, and a busy runtime may collect them
    if (warning.code !== 'HOLDFAST_FORGOTTEN') warnings.push(warning);
  };
  return new Holdfast(store, { ...SETTINGS, clock, onWarning, ...options });
}

async function advance(ms: number): Promise<void> {
  await clock.advance(ms);
  // the texts are loaded with the first warning
  await vi.dynamicImportSettled();
  await settle();
}

async function soon<T>(promise: Promise<T>): Promise<T> {
  void later(promise);
  await clock.advance(20);
  return promise;
}

const codes = (): string[] => warnings.map(({ code }) => code);

describe('a lock that is held for longer than `longHold`', () => {
  it('is told at its next renewal, once', async () => {
    await soon(make({ longHold: 3000 }).mutex('k').acquire());
    await advance(4000);
    expect(codes()).toEqual([]);
    await advance(20_000);
    expect(warnings).toMatchObject([{ code: 'HOLDFAST_LONG_HOLD', key: 'k' }]);
    expect(warnings[0]?.message).toMatch(/"k" has been held for \d\.\d s, .*longHold \(3\.0 s\)/u);
  });

  it('is told at its release, if no renewal was due', async () => {
    const lease = await soon(one.mutex('k', { longHold: 1000 }).acquire());
    await advance(1500);
    await soon(lease.release());
    await advance(0);
    expect(codes()).toEqual(['HOLDFAST_LONG_HOLD']);
  });

  it.each([
    ['a shorter hold', { longHold: 5000 }, 1000],
    ['no limit', {}, 60_000],
  ])('is not told with %s', async (_, options, ms) => {
    const lease = await soon(one.mutex('k', options).acquire());
    await advance(ms);
    await soon(lease.release());
    await advance(0);
    expect(codes()).toEqual([]);
  });

  it('does not concern leaders', async () => {
    await soon(make({ longHold: 1000 }).election('e').campaign());
    await advance(30_000);
    expect(codes()).toEqual([]);
  });
});

describe('work that outlived its lease', () => {
  const work = (ms: number): Promise<void> => new Promise((end) => void clock.after(ms, end));

  it('is told when it ends', async () => {
    store.ail('renew', 'failed');
    void later(one.mutex('k').run(() => work(15_000)));
    await advance(14_000);
    expect(codes()).toEqual([]);
    await advance(2000);
    expect(warnings).toMatchObject([{ code: 'HOLDFAST_OUTLIVED', key: 'k' }]);
    expect(warnings[0]?.message).toMatch(/ended 5\.\d s after its lease was lost/u);
  });

  it('is not told if it ends because the signal aborts', async () => {
    store.ail('renew', 'failed');
    const run = one
      .mutex('k')
      .run(
        ({ signal }) => new Promise<void>((end) => signal.addEventListener('abort', () => end())),
      );
    void later(run);
    await advance(20_000);
    await expect(run).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(codes()).toEqual([]);
  });

  it('is not told if the lease was renewed', async () => {
    void later(one.mutex('k').run(() => work(15_000)));
    await advance(16_000);
    expect(codes()).toEqual([]);
  });
});

describe('a queue that grows', () => {
  it.each([
    ['of a mutex', {}],
    ['of a fair mutex', { fair: true }],
  ])('%s is told, and again when it has doubled', async (_, options) => {
    await soon(other.mutex('k').acquire());
    const wait = (count: number): void => {
      for (let n = 0; n < count; n++) void later(one.mutex('k', options).acquire());
    };
    wait(99);
    await advance(500);
    expect(codes()).toEqual([]);
    wait(30);
    await advance(500);
    expect(warnings).toMatchObject([{ code: 'HOLDFAST_LONG_QUEUE', key: 'k' }]);
    expect(warnings[0]?.message).toContain('129 calls of this process wait for "k"');
    wait(100);
    await advance(2000);
    expect(codes()).toHaveLength(1);
    wait(29);
    await advance(500);
    expect(codes()).toEqual(['HOLDFAST_LONG_QUEUE', 'HOLDFAST_LONG_QUEUE']);
  });

  it('behind a holder of this process is told too', async () => {
    await soon(one.mutex('k').acquire());
    for (let n = 0; n < 100; n++) void later(one.mutex('k').acquire());
    await advance(500);
    expect(codes()).toEqual(['HOLDFAST_LONG_QUEUE']);
  });

  it('that stays is told once', async () => {
    await soon(other.mutex('k').acquire());
    for (let n = 0; n < 150; n++) void later(one.mutex('k').acquire());
    await advance(90_000);
    expect(codes()).toEqual(['HOLDFAST_LONG_QUEUE']);
  });
});

describe('a renewal that is late', () => {
  it('after a stall of the event loop is told', async () => {
    for (const key of ['a', 'b']) await soon(one.mutex(key).acquire());
    clock.stall(8000);
    await advance(0);
    expect(warnings).toMatchObject([{ code: 'HOLDFAST_LATE_RENEWAL', key: 'a' }]);
    expect(warnings[0]?.message).toMatch(/renewal of "a" and of 1 more is [23]\.\d s late/u);
  });

  it.each([400, 0])('is not told after a stall of %s ms', async (ms) => {
    await soon(one.mutex('k').acquire());
    await advance(4500);
    for (let n = 0; n < 10; n++) {
      clock.stall(ms);
      await advance(100);
    }
    expect(codes()).toEqual([]);
  });

  it('is told at most once in a second', async () => {
    for (let n = 0; n < 1200; n++) void later(one.mutex(`${n}`).acquire());
    await advance(100);
    clock.stall(8000);
    await advance(100);
    expect(codes()).toEqual(['HOLDFAST_LATE_RENEWAL']);
  });
});

describe('a clock that jumped', () => {
  it('forward is told', async () => {
    await soon(one.mutex('k').acquire());
    clock.sleep(60_000);
    await advance(8000);
    expect(warnings).toMatchObject([{ code: 'HOLDFAST_CLOCK_JUMP', key: undefined }]);
    expect(warnings[0]?.message).toContain('was set forward by 60.0 s, or the machine was susp');
  });

  it('back is told', async () => {
    await soon(one.mutex('k').acquire());
    clock.sleep(-30_000);
    await advance(8000);
    expect(warnings[0]?.message).toContain('was set back by 30.0 s');
    expect(codes()).toEqual(['HOLDFAST_CLOCK_JUMP']);
  });

  it('by less than a second is not told', async () => {
    await soon(one.mutex('k').acquire());
    for (const ms of [900, -900]) {
      clock.sleep(ms);
      await advance(8000);
    }
    expect(codes()).toEqual([]);
  });
});

describe('a hand-off that fell back to polling', () => {
  it.each([
    ['of a mutex', {}],
    ['of a fair mutex', { fair: true }],
  ])('%s is told once in ten seconds', async (_, options) => {
    store.pushes = false;
    await soon(other.mutex('k').acquire());
    void later(one.mutex('k', options).acquire());
    await advance(9000);
    expect(warnings).toMatchObject([{ code: 'HOLDFAST_POLLING', key: 'k' }]);
    await advance(2000);
    expect(codes()).toHaveLength(2);
  });

  it('is not told while messages arrive', async () => {
    await soon(other.mutex('k').acquire());
    void later(one.mutex('k').acquire());
    await advance(9000);
    expect(codes()).toEqual([]);
  });
});

describe('without `onWarning`', () => {
  it('warnings are published, with their instance, and nothing is printed', async () => {
    const printed = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const quiet = make({ onWarning: undefined, longWait: 1000 });
    const { found, stop } = record(quiet);
    const mutex = quiet.mutex('k');
    void later(mutex.run(() => mutex.run(() => undefined)));
    await advance(9000);
    stop();
    expect(of(found, 'warning')).toMatchObject([{ code: 'HOLDFAST_SELF_WAIT', key: 'k' }]);
    expect(printed.mock.calls).toEqual([]);
    printed.mockRestore();
  });

  it('and without a subscriber nothing is created', async () => {
    const quiet = make({ onWarning: undefined, longWait: 1000 });
    const { telemetry } = quiet.core;
    const read = vi.spyOn(telemetry.clock, 'now');
    telemetry.warn('clock', 5000);
    expect(read.mock.calls).toEqual([]);
    const listen = (): void => undefined;
    subscribe('holdfast:warning', listen);
    telemetry.warn('clock', 5000);
    unsubscribe('holdfast:warning', listen);
    expect(read.mock.calls).toHaveLength(1);
    read.mockRestore();
    await vi.dynamicImportSettled();
  });
});

it('a callback that throws is a warning on the channel', async () => {
  const onWarning = (): void => {
    throw new Error('mine');
  };
  const throwing = make({ onWarning });
  const { found, stop } = record(throwing);
  throwing.core.telemetry.warn('clock', 5000);
  await advance(0);
  stop();
  const told = of(found, 'warning').map(({ code }) => code);
  expect(told).toEqual(['HOLDFAST_CLOCK_JUMP', 'HOLDFAST_CALLBACK']);
  expect(of(found, 'warning')[1]?.['message']).toContain('onWarning failed: Error: mine');
});
