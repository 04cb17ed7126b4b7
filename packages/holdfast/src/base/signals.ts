/** Closes an instance on process signals, for `closeOnSignals`. */
import { constants } from 'node:os';
import { badOption } from './errors.js';

/** The signals must exist on this platform, and have a handler. */
export function checkSignals(signals: readonly NodeJS.Signals[] = []): readonly NodeJS.Signals[] {
  const good = (one: unknown): boolean =>
    typeof one === 'string' && one in constants.signals && one !== 'SIGKILL' && one !== 'SIGSTOP';
  if (!Array.isArray(signals) || !signals.every(good)) {
    throw badOption(
      'closeOnSignals',
      'an array of signal names that can be handled, for example SIGTERM',
      signals,
    );
  }
  return signals;
}

/** The handlers of all instances, and how many close now. */
const handlers = new WeakSet<() => void>();
let closing = 0;

/**
 * Closes on the first signal; when all instances are closed, it ends the process as usual. A second
 * signal during the close ends it at once. With own handlers, the program decides that. The
 * returned function removes the handlers.
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
