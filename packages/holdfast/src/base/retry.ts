/**
 * The one loop that repeats requests until they have an answer. Each command may be repeated (I3),
 * so callers differ only in their policy.
 *
 * State machines that repeat a request as one step (an acquisition, the watchdog, the wake channel)
 * have their own timers, and the delays of this file.
 */
import type { Clock } from './clock.js';
import { Pause } from './pause.js';
import type { Settings } from './options.js';

export interface RetryPolicy {
  readonly clock: Clock;
  /** The pause in ms after so many failed attempts. */
  readonly delay: (failures: number) => number;
  /** No attempt starts at this time or later. Read after each failure. */
  readonly until?: number;
  /** False when no answer is needed any more. Called before each attempt and after each failure. */
  readonly continues: (failures: number) => boolean | Promise<boolean>;
  /** An error that it throws ends the attempts. */
  readonly failed?: (error: unknown, failures: number) => void;
  /** The pauses do not keep the process alive. Read before each. */
  readonly weak?: boolean;
  readonly pause?: Pause;
}

/**
 * Calls `attempt` until it resolves to an answer: after a rejection again after a pause; after
 * `undefined`, which decided nothing, at once.
 *
 * The first attempt starts during this call if `continues` returns no promise, so the requests of
 * two calls keep their order.
 *
 * Resolves to `undefined` if the attempts ended before: `continues` returned false, or the next
 * attempt would start too late. Rejects only with an error of `failed`.
 */
export async function retry<T>(
  attempt: (failures: number) => Promise<T | undefined>,
  policy: RetryPolicy,
): Promise<T | undefined> {
  const { clock, delay, continues, failed, pause = new Pause(clock) } = policy;
  let failures = 0;
  for (let more = continues(failures); more === true || (await more); more = continues(failures)) {
    try {
      const answer = await attempt(failures);
      if (answer !== undefined) return answer;
      continue;
    } catch (error) {
      failures += 1;
      failed?.(error, failures);
    }
    if (!(await continues(failures))) return undefined;
    const ms = delay(failures);
    if (clock.now() + ms >= (policy.until ?? Number.POSITIVE_INFINITY)) return undefined;
    await pause.for(ms, policy.weak);
  }
  return undefined;
}

export function growing(min: number, max: number): RetryPolicy['delay'] {
  return (failures) => Math.min(max, min * 2 ** (failures - 1));
}

/**
 * Random, for many waiters that failed together: at most a quarter of the claim window and a tenth
 * of `unreachableAfter`.
 */
export function spread(settings: Settings): () => number {
  const { randomSource, claimWindow, unreachableAfter } = settings;
  const longest = Math.min(claimWindow / 4, unreachableAfter / 10);
  return () => longest * (0.5 + randomSource.fraction() / 2);
}
