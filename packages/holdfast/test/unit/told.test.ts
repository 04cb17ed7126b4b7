/** What a program learns without asking: losses, forgotten leases, and how a lease is shown. */
import { createHook } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type HoldfastOptions, type HoldfastWarning, memory } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
});

const make = (options: HoldfastOptions = {}): Holdfast =>
  new Holdfast(store, { clock, ttl: 9000, ...options });

describe('onLost', () => {
  it('is called once for each lost lease, with the error of its signal', async () => {
    const told: unknown[] = [];
    const holdfast = make({ onLost: (lost) => told.push(lost) });
    const lease = await holdfast.mutex('k').acquire();
    const released = await holdfast.mutex('other').acquire();
    await released.release();
    await clock.advance(2500);
    await make().forceRelease('k');
    await clock.advance(100);
    const { key, id, fence, signal } = lease;
    expect(told).toEqual([
      { key, id, fence, held: expect.closeTo(2500, -2), error: signal.reason },
    ]);
  });

  it('that throws or rejects becomes a warning', async () => {
    const warnings: HoldfastWarning[] = [];
    const broken: (() => unknown)[] = [
      () => {
        throw new Error('in onLost');
      },
      () => Promise.reject(new Error('in onLost')),
    ];
    for (const onLost of broken) {
      const holdfast = make({
        onLost,
        onWarning: (one) => warnings.push(one),
      });
      await holdfast.mutex('k').acquire({ renew: false });
      await clock.advance(10_000);
    }
    const callbacks = (): HoldfastWarning[] =>
      warnings.filter(({ code }) => code === 'HOLDFAST_CALLBACK');
    // the texts of warnings are loaded with the first of them
    await vi.waitFor(() => expect(callbacks()).toHaveLength(2), 20_000);
    expect(callbacks()[0]?.message).toContain('onLost of "k" failed');
    expect(() => make({ onLost: 1 as never })).toThrow(/"onLost"/);
  });
});

it('a loss makes no promise for an absent onLost', async () => {
  const promises = async (onLost?: () => void): Promise<number> => {
    const { hold } = await make({ onLost }).mutex('k').acquire();
    let count = 0;
    const init = (_: number, type: string): void => void (count += type === 'PROMISE' ? 1 : 0);
    const hook = createHook({ init }).enable();
    hold.root.telemetry.lost(hold);
    hook.disable();
    await make().forceRelease('k');
    return count;
  };
  expect(await promises()).toBe(0);
  expect(await promises(() => undefined)).toBeGreaterThan(0);
});

describe('a lease whose object is collected', () => {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;

  async function warningsOf(release: boolean): Promise<HoldfastWarning[]> {
    const warnings: HoldfastWarning[] = [];
    const holdfast = new Holdfast(memory(), { onWarning: (one) => warnings.push(one) });
    let collected = false;
    const registry = new FinalizationRegistry(() => {
      collected = true;
    });
    const forget = async (): Promise<void> => {
      const lease = await holdfast.mutex('k').acquire();
      registry.register(lease, undefined);
      if (release) await lease.release();
    };
    await forget();
    let more = 3;
    for (let turns = 0; turns < 100 && more > 0 && !(collected && warnings.length > 0); turns++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 5));
      // a warning comes in a later turn than the finalizer that causes it
      if (collected) more -= 1;
    }
    expect(collected).toBe(true);
    await holdfast.close({ grace: 0 });
    return warnings;
  }

  it('is reported if it was not released', async () => {
    const [warning] = await warningsOf(false);
    expect(warning).toMatchObject({ code: 'HOLDFAST_FORGOTTEN', key: 'k' });
  });

  it('is not reported if it was', async () => {
    expect(await warningsOf(true)).toEqual([]);
  });
});

it('a ttl that may have been meant in seconds is reported once', async () => {
  const warnings: HoldfastWarning[] = [];
  const holdfast = make({ onWarning: (one) => warnings.push(one) });
  await (await holdfast.mutex('long').acquire({ ttl: 100 })).release();
  await (await holdfast.mutex('k').acquire({ ttl: 30 })).release();
  await (await holdfast.mutex('k', { ttl: 30 }).acquire()).release();
  await vi.waitFor(() => expect(warnings).not.toEqual([]), 20_000);
  expect(warnings).toMatchObject([{ code: 'HOLDFAST_SHORT_TTL', key: 'k' }]);
  expect(warnings[0]?.message).toContain('30000');
});

it('a lease says in text and JSON what it is', async () => {
  const lease = await make().mutex('k').acquire();
  const { key, id, fence, state } = lease;
  expect(JSON.parse(JSON.stringify(lease))).toMatchObject({ key, id, fence, state });
  expect(`${lease as unknown as string}`).toMatch(/^Lease \{"key":"k","id":".+"fence":\d+/);
  const both = await make().allOf(['a', 'b']).acquire();
  expect(JSON.parse(JSON.stringify(both))).toMatchObject({ fences: { a: both.fences.get('a') } });
});

it('a loop over a free lock in memory lets timers run', async () => {
  const holdfast = new Holdfast(memory());
  const mutex = holdfast.mutex('k');
  let fired = false;
  setTimeout(() => {
    fired = true;
  }, 1);
  let runs = 0;
  for (; !fired && runs < 1_000_000; runs++) await mutex.run(() => 1);
  expect(fired).toBe(true);
  await holdfast.close();
});

it('maxQueue limits the calls of a process, whatever their terms', async () => {
  const holdfast = make({ maxQueue: 5 });
  const mutex = holdfast.mutex('k');
  await make().mutex('k').acquire();
  const calls = Array.from({ length: 30 }, (_, at) =>
    later(
      mutex.acquire({ ttl: 5000 + (at % 6) }).then(
        () => 'granted',
        (error) => error.code,
      ),
    ),
  );
  await clock.advance(100);
  const refused = await Promise.all(
    calls.map((call) => Promise.race([call, Promise.resolve('waits')])),
  );
  expect(refused.filter((one) => one === 'HOLDFAST_REFUSED').length).toBeGreaterThanOrEqual(19);
  expect(refused.filter((one) => one === 'waits').length).toBeLessThanOrEqual(11);
});

it('a release checks its options before it releases', async () => {
  const lease = await make().mutex('k').acquire();
  await failure(lease.release({ signal: 1 as never }), 'HOLDFAST_BAD_OPTION');
  await failure(lease.release({ timeout: 1 } as never), 'HOLDFAST_BAD_OPTION');
  expect(lease.held).toBe(true);
  expect(await lease.release({})).toBe('freed');
});

it('a further release after one without an answer tells what became of it', async () => {
  const lease = await make().mutex('k').acquire();
  store.ail('release', 'lost');
  const first = later(lease.release());
  await clock.advance(5000);
  await failure(first, 'HOLDFAST_UNCERTAIN');
  store.heal();
  await clock.advance(3000);
  expect(await lease.release()).toBe('freed');
  expect(await lease.release()).toBe('freed');
});

it('a computation that waits for its own flight is refused', async () => {
  const flight = make().singleFlight('k');
  const nothing = (): undefined => undefined;
  const inner = (): Promise<string> => flight.run({ fresh: nothing, compute: () => 'inner' });
  const outer = flight.run({ fresh: nothing, compute: inner });
  expect((await failure(outer, 'HOLDFAST_REFUSED')).message).toContain('wait for itself');
  // work that it has started, and that goes on, may compute again
  let detached: Promise<string> = Promise.resolve('');
  let go = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const starts = (): string => {
    detached = gate.then(inner);
    return 'outer';
  };
  expect(await flight.run({ fresh: nothing, compute: starts })).toBe('outer');
  go();
  expect(await detached).toBe('inner');
});
