/**
 * I7 under random failures: with any lost or late requests and replies, and any clock jumps, a
 * holder never considers its lease valid for longer than the store does. HOLDFAST_SEED repeats a
 * run.
 */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { Holdfast } from '../../../src/index.js';
import { Hold, Root } from '../../../src/lease/root.js';
import { Watchdog } from '../../../src/lease/watchdog.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { type Fate, WatchedStore } from '../../support/watched-store.js';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 300;
const TTL = 1000;

interface Weather {
  readonly fate: Fate;
  readonly how: 'advance' | 'stall' | 'sleep';
  readonly ms: number;
}

const weather: fc.Arbitrary<Weather> = fc.record({
  fate: fc.oneof(
    fc.constantFrom<Fate>('answered', 'answered', 'answer lost', 'lost', 'failed'),
    fc.integer({ min: 1, max: 800 }),
  ),
  how: fc.constantFrom('advance', 'advance', 'advance', 'advance', 'stall', 'sleep'),
  ms: fc.integer({ min: 1, max: 400 }),
});

const changes = fc.array(weather, { minLength: 1, maxLength: 40, size: 'max' });
const first = fc.record({ slow: fc.nat(900), renew: fc.boolean(), extend: fc.boolean() });

/**
 * Compares both sides after each event. Throws if the holder's deadline is later than the store's.
 */
async function live(
  { slow, renew, extend }: { slow: number; renew: boolean; extend: boolean },
  list: readonly Weather[],
): Promise<number> {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  const holdfast = new Holdfast(store, { clock, ttl: TTL, requestTimeout: 2000 });
  store.ail('acquire', slow);
  const acquiring = holdfast
    .mutex('k')
    .tryAcquire({ renew })
    .catch(() => null);
  await clock.advance(slow + 1);
  const lease = await acquiring;
  if (lease === null) return 0;
  const { signal } = lease;
  let looks = 0;
  const look = async (): Promise<void> => {
    const [shown] = await Promise.all(store.inner.execute([{ op: 'inspect', key: 'k', limit: 1 }]));
    const left = shown?.status === 'inspected' ? (shown.holders[0]?.left ?? 0) / 1000 : 0;
    const believed = lease.remaining;
    if (believed > left) throw new Error(`I7: ${believed} ms believed, ${left} ms left`);
    // The reply to a renewal may have arrived, and is read first.
    if (left === 0 && !lease.signal.aborted) await clock.advance(0);
    if (left === 0 && !lease.signal.aborted) throw new Error('I7: the signal did not abort');
    if (lease.held && signal.aborted) throw new Error('held, and aborted');
    looks += lease.held ? 1 : 0;
  };
  for (const { fate, how, ms } of list) {
    store.fate = () => fate;
    if (extend && lease.held) void lease.extend(ms * 4).catch(() => undefined);
    if (how === 'stall') clock.stall(ms);
    if (how === 'sleep') clock.sleep(10 * ms);
    await look();
    for (let step = 0; how === 'advance' && step < 4; step++) {
      await clock.advance(ms / 4);
      await look();
    }
  }
  return looks;
}

function property(seen: { held: number }): fc.IAsyncProperty<[never, never]> {
  return fc.asyncProperty(first, changes, async (start, list) => {
    seen.held += await live(start, list);
  }) as unknown as fc.IAsyncProperty<[never, never]>;
}

it(`the holder never exceeds the store's deadline (HOLDFAST_SEED=${SEED})`, async () => {
  const seen = { held: 0 };
  await fc.assert(property(seen), { seed: SEED, numRuns: RUNS });
  expect(seen.held).toBeGreaterThan(2000);
});

describe('the test detects a lease that', () => {
  it.each([
    [
      'counts from the arrival of the reply',
      () => {
        vi.spyOn(Root.prototype, 'confirm').mockImplementation(function (this: Root, until) {
          this.storeUntil = until + 100;
          this.doubted = false;
        });
      },
    ],
    [
      'does not read the clock',
      () => {
        vi.spyOn(Hold.prototype, 'remaining', 'get').mockImplementation(function (this: Hold) {
          return this.state === 'held' ? 1 : 0;
        });
        vi.spyOn(Watchdog.prototype, 'believes').mockImplementation((hold) => hold.remaining > 0);
      },
    ],
    [
      'does not end locally',
      () => {
        vi.spyOn(Hold.prototype, 'lose').mockImplementation(() => undefined);
      },
    ],
  ] as const)('%s', async (_, plant) => {
    plant();
    const details = await fc.check(property({ held: 0 }), {
      seed: SEED,
      numRuns: RUNS,
      endOnFailure: true,
    });
    expect(String(details.errorInstance)).toMatch(/I7/);
  });
});
