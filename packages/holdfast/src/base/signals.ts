import { constants } from 'node:os';
import { badOption } from './errors.js';

export function checkSignals(signals: readonly NodeJS.Signals[] = []): readonly NodeJS.Signals[] {
  const good = (one: unknown): boolean =>
    typeof one === 'string' && one in constants.signals && one !== 'SIGKILL' && one !== 'SIGSTOP';
  const bad = Array.isArray(signals) ? signals.filter((one) => !good(one)) : [signals];
  if (bad.length > 0) {
    const expected = 'an array of signal names that can be handled, for example SIGTERM';
    throw badOption('closeOnSignals', expected, bad[0]);
  }
  return signals;
}

const handlers = new WeakSet<() => void>();
/** Instances that close now. */
let closing = 0;

/**
 * Closes on the first signal, see `closeOnSignals`. Without a handler of the program, a second
 * signal during the close ends the process at once. The returned function removes the handlers.
 */
export function closeOn(
  signals: readonly NodeJS.Signals[],
  close: () => Promise<void>,
): () => void {
  const remove = (): void => {
    for (const signal of signals) process.removeListener(signal, handle);
  };
  const handle = (signal: NodeJS.Signals): void => {
    // now: a handler that is called once is removed before its call
    const isAlone = process.listeners(signal).every((one) => handlers.has(one as () => void));
    remove();
    closing += 1;
    const end = (): void => {
      closing -= 1;
      if (isAlone && closing === 0 && process.listenerCount(signal) === 0) {
        process.kill(process.pid, signal);
      }
    };
    void close().then(end, end);
  };
  handlers.add(handle as () => void);
  for (const signal of signals) process.prependListener(signal, handle);
  return remove;
}
