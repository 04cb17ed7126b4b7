/** Observes one instance of Holdfast. */
import { type Meter, metrics, type Tracer, trace } from '@opentelemetry/api';
import type { KeyStats, LockInfo } from 'holdfast';
import { badOption, flagOption, knownOptions, wholeOption } from 'holdfast/register';
import { limited, type LockName, lockName } from './lock-name.js';
import { measure } from './metrics.js';
import { traceLocks } from './spans.js';

/** The parts of a `Holdfast` that are used. */
export interface Instrumented {
  readonly id: string;
  statsByKey(): ReadonlyMap<string, Readonly<KeyStats>>;
  inspect(key: string): Promise<LockInfo | null>;
}

/** What `instrument` may be told. */
export interface InstrumentOptions {
  /** Makes the attribute `lock.name` from a key, see {@link lockName}. */
  readonly lockName?: LockName | undefined;
  /** The most names; further ones become `{other}`. Default 100. */
  readonly maxLockNames?: number | undefined;
  /** Default: that of the global provider. */
  readonly meter?: Meter | undefined;
  /** Default: that of the global provider. */
  readonly tracer?: Tracer | undefined;
  /**
   * After a wait of so many ms, the store is asked once which process holds the lock, for the span.
   * Only if the span is recorded. `Infinity` for never. Default 100.
   */
  readonly holderAfter?: number | undefined;
  /** True for no spans outside another span. Default `false`. */
  readonly requireParentSpan?: boolean | undefined;
}

const NAME = 'holdfast';
const NAMES_MAX = 100;
const HOLDER_AFTER_MS = 100;

const OPTIONS: ReadonlySet<string> = new Set<keyof InstrumentOptions>([
  ...(['lockName', 'maxLockNames', 'meter', 'tracer', 'holderAfter'] as const),
  'requireParentSpan',
]);

/**
 * Begins to observe. Returns a function that ends it; call it before `holdfast.close()`.
 * @throws HOLDFAST_BAD_OPTION if an argument is not valid
 */
export function instrument(holdfast: Instrumented, options: InstrumentOptions = {}): () => void {
  if (typeof holdfast?.statsByKey !== 'function') {
    throw badOption('holdfast', 'an instance of Holdfast', holdfast);
  }
  knownOptions('options', options, OPTIONS);
  const names = wholeOption('maxLockNames', options.maxLockNames, NAMES_MAX, 0, 1_000_000);
  const { holderAfter = HOLDER_AFTER_MS, lockName: name = lockName } = options;
  if (typeof holderAfter !== 'number' || !(holderAfter >= 0)) {
    throw badOption('holderAfter', 'a number of milliseconds, 0 or more', holderAfter);
  }
  if (typeof name !== 'function') throw badOption('lockName', 'a function', name);
  const requireParentSpan = flagOption('requireParentSpan', options.requireParentSpan, false);
  const { meter = metrics.getMeter(NAME), tracer = trace.getTracer(NAME) } = options;
  const nameOf = limited(name, names);
  const stops = [
    measure(holdfast, meter, nameOf),
    traceLocks(holdfast, { tracer, nameOf, holderAfter, requireParentSpan }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
