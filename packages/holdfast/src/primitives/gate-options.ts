import { badOption } from '../base/errors.js';
import { duration, known } from '../base/checks.js';

export interface WaitOptions {
  /** In ms. Default: no limit. */
  readonly wait?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const AWAIT = new Set<string>(['wait', 'signal']);

export function checkAwait(options: WaitOptions): {
  wait: number;
  signal: AbortSignal | undefined;
} {
  known('options', options, AWAIT);
  const { wait, signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw badOption('signal', 'an AbortSignal', signal);
  }
  const unlimited = Number.POSITIVE_INFINITY;
  return { wait: duration('wait', wait, unlimited, 0, Number.MAX_SAFE_INTEGER), signal };
}
