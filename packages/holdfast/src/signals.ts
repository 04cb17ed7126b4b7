/** Closes an instance on process signals such as SIGTERM, for the `closeOnSignals` option. */
import { constants } from 'node:os';
import { badOption } from './errors.js';

/** Checks that all signals exist on this platform and can be handled. */
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

/**
 * Closes on the first of the signals, then lets the signal end the process as usual. A second
 * signal during the close ends the process at once. Returns a function that removes the handlers.
 */
export function closeOn(
  signals: readonly NodeJS.Signals[],
  close: () => Promise<void>,
): () => void {
  const remove = (): void => {
    for (const signal of signals) process.removeListener(signal, handle);
  };
  const handle = (signal: NodeJS.Signals): void => {
    remove();
    // if the program has its own handlers, they decide when the process ends
    const end = (): void => {
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    };
    void close().then(end, end);
  };
  for (const signal of signals) process.on(signal, handle);
  return remove;
}
