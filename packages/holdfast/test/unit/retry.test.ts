/** The loop that repeats requests, and its policies. */
import { beforeEach, describe, expect, it } from 'vitest';
import { resolveSettings } from '../../src/base/options.js';
import { Pause } from '../../src/base/pause.js';
import { growing, retry, type RetryPolicy, spread } from '../../src/base/retry.js';
import { VirtualClock } from '../support/virtual-clock.js';

let clock: VirtualClock;
/** The times of the attempts, from the start on. */
let times: number[];
let result: { value?: unknown; error?: unknown; at: number } | undefined;

beforeEach(() => {
  clock = new VirtualClock();
  times = [];
  result = undefined;
});

/** Starts a loop whose attempts have these results; an `Error` is a rejection. */
function start(results: readonly unknown[], policy: Partial<RetryPolicy> = {}): void {
  const from = clock.now();
  const attempt = async (failures: number): Promise<unknown> => {
    const next = results[times.length];
    times.push(clock.now() - from);
    if (next === 'failures') return failures;
    if (next instanceof Error) throw next;
    return next;
  };
  const all: RetryPolicy = { clock, delay: () => 10, continues: () => true };
  // with its getters
  Object.defineProperties(all, Object.getOwnPropertyDescriptors(policy));
  retry(attempt, all).then(
    (value) => (result = { value, at: clock.now() - from }),
    (error: unknown) => (result = { error, at: clock.now() - from }),
  );
}

const failure = new Error('no answer');
const failing = Array.from({ length: 20 }, () => failure);

describe('retry', () => {
  it('resolves to the first answer', async () => {
    start(['first', 'second']);
    await clock.advance(100);
    expect(result).toEqual({ value: 'first', at: 0 });
    expect(times).toEqual([0]);
    expect(clock.timers()).toBe(0);
  });

  it('pauses after each failure, and counts the failures for the attempt', async () => {
    start([failure, failure, failure, 'failures'], { delay: growing(20, 50) });
    await clock.advance(1000);
    expect(times).toEqual([0, 20, 60, 110]);
    expect(result).toEqual({ value: 3, at: 110 });
  });

  it('repeats at once after an answer that decides nothing', async () => {
    start([undefined, failure, undefined, 'failures']);
    await clock.advance(100);
    expect(times).toEqual([0, 0, 10, 10]);
    expect(result).toEqual({ value: 1, at: 10 });
  });

  it('starts no attempt at the end of its time or later', async () => {
    start(failing, { until: clock.now() + 30 });
    await clock.advance(1000);
    expect(times).toEqual([0, 10, 20]);
    // without a pause that no attempt follows
    expect(result).toEqual({ value: undefined, at: 20 });
  });

  it('reads the end of its time after each failure', async () => {
    const policy = { until: clock.now() + 15 };
    const from = clock.now();
    start(failing, {
      get until() {
        return policy.until;
      },
    });
    await clock.advance(5);
    policy.until = from + 35;
    await clock.advance(1000);
    expect(times).toEqual([0, 10, 20, 30]);
  });

  it('starts during the call, so that requests keep their order', () => {
    start(['first']);
    expect(times).toEqual([0]);
  });

  it('sends nothing if the answer is not needed', async () => {
    start(['first'], { continues: () => false });
    await clock.advance(100);
    expect(times).toEqual([]);
    expect(result).toEqual({ value: undefined, at: 0 });
  });

  it('ends after a failure, without a pause, when the answer is not needed any more', async () => {
    start(failing, { continues: async (failures) => failures < 2 });
    await clock.advance(1000);
    expect(result).toEqual({ value: undefined, at: 10 });
    expect(times).toEqual([0, 10]);
  });

  it('ends after a pause when the answer is not needed any more', async () => {
    let needed = true;
    start(failing, { continues: () => needed });
    await clock.advance(5);
    needed = false;
    await clock.advance(100);
    expect(times).toEqual([0]);
    expect(result).toEqual({ value: undefined, at: 10 });
  });

  it('ends a pause early on demand', async () => {
    const pause = new Pause(clock);
    start([failure, 'second'], { pause, delay: () => 1000 });
    await clock.advance(5);
    pause.wake();
    await clock.advance(0);
    expect(result).toEqual({ value: 'second', at: 5 });
    expect(clock.timers()).toBe(0);
  });

  it('rejects with the error that `failed` throws', async () => {
    const final = new Error('refused');
    const seen: unknown[] = [];
    start([failure, final, 'third'], {
      failed: (error, failures) => {
        seen.push([error, failures]);
        if (error === final) throw final;
      },
    });
    await clock.advance(100);
    expect(result).toEqual({ error: final, at: 10 });
    expect(seen).toEqual([
      [failure, 1],
      [final, 2],
    ]);
  });

  it('keeps the process alive during a pause, unless it is weak', async () => {
    start(failing);
    await clock.advance(0);
    expect(clock.timers('strong')).toBe(1);
    times = [];
    start(failing, { weak: true });
    await clock.advance(0);
    expect(clock.timers('strong')).toBe(1);
    expect(clock.timers()).toBe(2);
  });
});

describe('the delays', () => {
  it('grow up to a limit, after any number of failures', () => {
    const delay = growing(5, 200);
    expect([1, 2, 3, 6, 7, 5000].map(delay)).toEqual([5, 10, 20, 160, 200, 200]);
  });

  it('spread over half of the longest one', () => {
    const drawn = (fraction: number): number => {
      const randomSource = { fraction: () => fraction, secret: () => '', id: () => '' };
      const settings = resolveSettings({ claimWindow: 1000, unreachableAfter: 2000 });
      return spread({ ...settings, randomSource })();
    };
    expect([0, 0.5, 0.999].map(drawn).map(Math.round)).toEqual([100, 150, 200]);
  });
});
