/** Observes one instance of Holdfast. */
import { type Meter, metrics, type Tracer, trace } from '@opentelemetry/api';
import type { KeyStats, LockInfo } from 'holdfast';
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

/** Begins to observe. Returns a function that ends it; call it before `holdfast.close()`. */
export function instrument(holdfast: Instrumented, options: InstrumentOptions = {}): () => void {
  const { maxLockNames = NAMES_MAX, holderAfter = HOLDER_AFTER_MS } = options;
  const { meter = metrics.getMeter(NAME), tracer = trace.getTracer(NAME) } = options;
  const nameOf = limited(options.lockName ?? lockName, maxLockNames);
  const { requireParentSpan = false } = options;
  const stops = [
    measure(holdfast, meter, nameOf),
    traceLocks(holdfast, { tracer, nameOf, holderAfter, requireParentSpan }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
