import { checkSignal, duration, known } from '../base/checks.js';

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
  checkSignal(signal);
  return { wait: duration('wait', wait, Infinity, 0, Number.MAX_SAFE_INTEGER), signal };
}
