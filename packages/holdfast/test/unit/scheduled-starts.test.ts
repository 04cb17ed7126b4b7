/** When scheduled work begins, and what its slot's marker says. */
import { describe, expect, it } from 'vitest';
import { Holdfast, type LostLease } from '../../src/index.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

it('a marker that is over before its work is no loss', async () => {
  const clock = new VirtualClock();
  const lost: LostLease[] = [];
  const onLost = (one: LostLease): void => void lost.push(one);
  const holdfast = new Holdfast(new WatchedStore(clock), { clock, onLost });
  const options = { atLeast: 0, retention: 20_000, afterFailure: 'release' } as const;
  const work = (): Promise<void> => new Promise((resolve) => clock.after(60_000, resolve));
  const run = holdfast.schedule('job', options).runOnce(work, { slot: 'a' });
  await clock.advance(61_000);
  expect((await run).ran).toBe(true);
  expect(lost).toEqual([]);
  expect(holdfast.stats().losses).toBe(0);
});

/** A process whose requests take `ms` each way, and another one. */
function far(clock: VirtualClock, ms = 100): { one: Holdfast; other: Holdfast } {
  const inner = new MemoryStore(clock);
  const store = new WatchedStore(clock, inner);
  store.fate = () => ms;
  const other = new Holdfast(new WatchedStore(clock, inner), { clock });
  return { one: new Holdfast(store, { clock }), other };
}

describe.each([100, 200, 300, 400, 500])('%i ms after the call, work does not begin', (at) => {
  it('after a close, and nothing is left', async () => {
    const clock = new VirtualClock();
    const { one, other } = far(clock);
    const outcome = { began: Number.NEGATIVE_INFINITY, code: '' };
    const work = (): void => void (outcome.began = clock.now());
    const run = one.schedule('job', { atLeast: 60_000 }).runOnce(work, { slot: 's' });
    run.catch((error: { code: string }) => (outcome.code = error.code));
    await clock.advance(at);
    const closedAt = clock.now();
    void one.close({ grace: 0 });
    await clock.advance(30_000);
    if (outcome.began > 0) return expect(outcome.began).toBeLessThanOrEqual(closedAt);
    expect(['HOLDFAST_CLOSED', 'HOLDFAST_LOST']).toContain(outcome.code);
    expect(await other.inspect('job')).toBeNull();
    for await (const { key } of other.list('job*', { markers: true })) expect(key).toBe('nothing');
  });

  it('after an abort', async () => {
    const clock = new VirtualClock();
    const { one } = far(clock);
    const controller = new AbortController();
    const outcome = { began: Number.NEGATIVE_INFINITY, code: '' };
    const work = (): void => void (outcome.began = clock.now());
    const { signal } = controller;
    const run = one.schedule('job', { atLeast: 60_000 }).runOnce(work, { slot: 's', signal });
    run.catch((error: { code: string }) => (outcome.code = error.code));
    await clock.advance(at);
    const abortedAt = clock.now();
    controller.abort();
    await clock.advance(5000);
    if (outcome.began > 0) expect(outcome.began).toBeLessThanOrEqual(abortedAt);
    else expect(outcome.code).toBe('HOLDFAST_ABORTED');
  });
});

describe.each([1, 100, 900])('with requests of %i ms, runs start `atLeast` apart', (ms) => {
  const LEAST = 60_000;
  const TTL = 10_000;
  // for the minimum time, and for a last renewal shortly before its end
  const DRIFT = 0.011 * (LEAST + TTL);
  // `atLeast` is longer than the ttl, so the store is asked to keep the lock
  it.each([
    ['usual', {}, 1],
    ['with `atMost` equal to `atLeast`', { atMost: LEAST }, 1],
    ['with `atMost` a bit longer', { atMost: LEAST + 50 }, 1],
    ['with work that reaches `atMost`', { atMost: LEAST }, LEAST + 5000],
  ] as const)('%s', async (_, more, lasts) => {
    const clock = new VirtualClock();
    const { one, other } = far(clock, ms);
    const options = { atLeast: LEAST, ttl: TTL, ...more };
    const starts: number[] = [];
    const first = one.schedule('job', options).runOnce(() => {
      starts.push(clock.now());
      return new Promise<void>((resolve) => clock.after(lasts, resolve));
    });
    first.catch(() => undefined);
    await clock.advance(20 * ms);
    const start = (): void => void starts.push(clock.now());
    void other.schedule('job', options).runOnce(start, { wait: 10 * LEAST });
    await clock.advance(LEAST + lasts + 10_000);
    const [earlier = 0, later = 0] = starts;
    expect(later - earlier).toBeGreaterThanOrEqual(LEAST);
    expect(later - earlier).toBeLessThan(LEAST + DRIFT + 10 + 4 * ms);
  });
});
