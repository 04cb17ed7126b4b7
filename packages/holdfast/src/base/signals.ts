import { constants } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { badOption } from './errors.js';

export function checkSignals(signals: readonly NodeJS.Signals[] = []): readonly NodeJS.Signals[] {
  const good = (one: unknown): boolean =>
    isMainThread &&
    typeof one === 'string' &&
    one in constants.signals &&
    !/KILL|SIGSTOP/.test(one);
  const bad = Array.isArray(signals) ? signals.filter((one) => !good(one)) : [signals];
  if (bad.length === 0) return signals;
  const expected = 'an array of signals that the main thread can handle';
  throw badOption('closeOnSignals', expected, bad[0]);
}

type Signals = readonly NodeJS.Signals[];
type Close = () => Promise<void>;
/** Returns a function that removes it, for the end of its close. */
type Add = (signals: Signals, close: Close) => () => void;

/** The instances of the process, with one handler. Each closes on its first signal. */
function closers(): Add {
  const instances = new Map<Close, Signals>();
  let closing = 0;
  const handles = (signal: NodeJS.Signals): boolean =>
    [...instances.values()].some((signals) => signals.includes(signal));
  const remove = (close: Close): void => {
    const signals = instances.get(close) ?? [];
    instances.delete(close);
    for (const signal of signals) if (!handles(signal)) process.off(signal, handle);
  };
  const handle = (signal: NodeJS.Signals): void => {
    // now: a handler that is called once is removed before its call
    const isAlone = process.listenerCount(signal) === 1;
    const end = (): void => {
      closing -= 1;
      const isLast = isAlone && closing + process.listenerCount(signal) === 0;
      if (isLast) process.kill(process.pid, signal);
    };
    for (const [close, signals] of instances) {
      if (!signals.includes(signal)) continue;
      remove(close);
      closing += 1;
      close().then(end, end);
    }
  };
  return (signals, close) => {
    for (const one of signals) if (!handles(one)) process.prependListener(one, handle);
    instances.set(close, signals);
    return () => remove(close);
  };
}

const CLOSERS: unique symbol = Symbol.for('holdfast.signals');
const shared = globalThis as { [CLOSERS]?: Add };

export const closeOn: Add = (...instance) => (shared[CLOSERS] ??= closers())(...instance);
