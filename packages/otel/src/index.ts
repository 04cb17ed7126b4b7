/**
 * Spans and metrics of a `Holdfast`, for OpenTelemetry.
 *
 * ```ts
 * import { instrument } from 'holdfast-otel';
 *
 * const stop = instrument(holdfast);
 * ```
 *
 * It subscribes to the channels of `diagnostics_channel` on which Holdfast publishes, and uses the
 * meter and the tracer of the program.
 *
 * @packageDocumentation
 */
export { type InstrumentOptions, instrument, type Instrumented } from './instrument.js';
export { type LockName, lockName } from './lock-name.js';
