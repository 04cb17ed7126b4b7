/**
 * One listener for each abort signal: a program passes one shutdown signal to all acquisitions, and
 * Node warns of a leak from the eleventh listener on.
 */

import { checkSignal, known } from './checks.js';
import { HoldfastError } from './errors.js';
import { quote } from './text.js';

/** Options of a call that sends one request. */
export interface CallOptions {
  /**
   * Ends the wait for the answer: the call rejects with `HOLDFAST_ABORTED`. The request may have
   * its effect.
   */
  readonly signal?: AbortSignal | undefined;
}

export function aborted(key: string, cause: unknown): HoldfastError {
  const message = `Holdfast: waiting for ${quote(key)} was aborted`;
  return new HoldfastError('HOLDFAST_ABORTED', message, { key, cause });
}

const waiting = new WeakMap<AbortSignal, Set<() => void>>();
const listeners = new WeakMap<AbortSignal, () => void>();

/**
 * Calls back once when the signal aborts, in the order of the calls; not if it has aborted already.
 * The returned function removes the callback.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const entry = (): void => callback();
  const known = waiting.get(signal);
  const entries = known ?? new Set();
  entries.add(entry);
  if (known === undefined) listen(signal, entries);
  return () => {
    if (!entries.delete(entry) || entries.size > 0) return;
    forget(signal, entries);
  };
}

function listen(signal: AbortSignal, entries: Set<() => void>): void {
  const aborted = (): void => {
    forget(signal, entries);
    for (const entry of entries) {
      // not one that an earlier callback removed
      if (entries.delete(entry)) entry();
    }
  };
  waiting.set(signal, entries);
  listeners.set(signal, aborted);
  signal.addEventListener('abort', aborted, { once: true });
}

function forget(signal: AbortSignal, entries: Set<() => void>): void {
  if (waiting.get(signal) !== entries) return;
  waiting.delete(signal);
  signal.removeEventListener('abort', listeners.get(signal) as () => void);
  listeners.delete(signal);
}

const CALL: ReadonlySet<string> = new Set(['signal']);

export function checkCall(options: CallOptions): void {
  known('options', options, CALL);
  checkSignal(options.signal);
}

export async function unlessAborted<T>(
  options: CallOptions | undefined,
  call: () => Promise<T>,
  key: string,
): Promise<T> {
  if (options === undefined) return call();
  checkCall(options);
  const { signal } = options;
  if (signal === undefined) return call();
  if (signal.aborted) throw aborted(key, signal.reason);
  return new Promise((resolve, reject) => {
    const ignore = onAbort(signal, () => reject(aborted(key, signal.reason)));
    call().finally(ignore).then(resolve, reject);
  });
}
