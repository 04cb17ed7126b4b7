/** Closing on SIGTERM and the like, for those who ask for it. */
import { constants } from 'node:os';
import { badOption } from './errors.js';

/** Signals that exist here and can be handled. */
export function checkSignals(signals: readonly NodeJS.Signals[] = []): readonly NodeJS.Signals[] {
  const good = (one: unknown): boolean =>
    typeof one === 'string' && one in constants.signals && one !== 'SIGKILL' && one !== 'SIGSTOP';
  if (!Array.isArray(signals) || !signals.every(good)) {
    throw badOption('closeOnSignals', 'a list of names of signals, as SIGTERM', signals);
  }
  return signals;
}

/**
 * Closes on the first of the signals, then lets the process end of it as it would have without us.
 * A second signal while closing ends it at once. Returns what takes the handlers away.
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
    // with handlers of the user's own left, ending the process is theirs to decide
    const end = (): void => {
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    };
    void close().then(end, end);
  };
  for (const signal of signals) process.on(signal, handle);
  return remove;
}
