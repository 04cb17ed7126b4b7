/** Options that latches and barriers share. */
import { badOption } from '../errors.js';
import { duration, known } from '../checks.js';

/** What one `await` of a latch or a barrier may say. */
export interface WaitOptions {
  /** Longest time to wait. Default: no limit. */
  readonly wait?: number;
  /** Gives the waiting up. */
  readonly signal?: AbortSignal;
}

const AWAIT = new Set<string>(['wait', 'signal']);

/** Checks and completes the options of an `await`. */
export function checkAwait(
  options: WaitOptions,
  shortest: number,
): { wait: number; signal: AbortSignal | undefined } {
  known('options', options, AWAIT);
  const { wait, signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw badOption('signal', 'an AbortSignal', signal);
  }
  const unlimited = Number.POSITIVE_INFINITY;
  return { wait: duration('wait', wait, unlimited, shortest, Number.MAX_SAFE_INTEGER), signal };
}
