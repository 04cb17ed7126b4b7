/**
 * What `holdfast-otel` costs an acquisition with its release: without the SDK of OpenTelemetry,
 * with its metrics, in a trace that is not sampled, and in one that is. The exporter is a function
 * that does nothing: a real one works in the background.
 */
import { context, type Context, createNoopMeter, trace, type Tracer } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import type { Holdfast } from 'holdfast';
import { instrument, type InstrumentOptions } from 'holdfast-otel';

/** Collects nothing by itself. */
class Reader extends MetricReader {
  protected onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

const DROPS: SpanExporter = {
  export: (_, done) => done({ code: 0 }),
  shutdown: () => Promise.resolve(),
};

interface Case {
  readonly name: string;
  readonly options: InstrumentOptions;
  /** The context of the acquisitions. */
  readonly inside: Context;
}

/**
 * The µs of each case, by its name.
 * @param measure the µs for the messages of an acquisition and its release
 */
export async function otelCosts(
  holdfast: Holdfast,
  measure: () => Promise<number>,
): Promise<[name: string, microseconds: number][]> {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const meters = new MeterProvider({ readers: [new Reader()] });
  const tracers = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(DROPS)] });
  const [meter, tracer] = [meters.getMeter('bench'), tracers.getTracer('bench')];
  const [noMeter, noTracer] = [createNoopMeter(), trace.getTracer('none')];
  const root = context.active();
  const cases: Case[] = [
    { name: 'holdfast-otel', options: { meter: noMeter, tracer: noTracer }, inside: root },
    { name: 'and metrics', options: { meter, tracer: noTracer }, inside: root },
    { name: 'not sampled', options: { meter, tracer }, inside: within(tracer, false) },
    { name: 'sampled', options: { meter, tracer }, inside: within(tracer, true) },
  ];
  const costs: [string, number][] = [];
  for (const { name, options, inside } of cases) {
    const stop = instrument(holdfast, options);
    costs.push([name, await context.with(inside, measure)]);
    stop();
  }
  context.disable();
  await Promise.all([meters.shutdown(), tracers.shutdown()]);
  return costs;
}

/** The context of a request whose trace is sampled or not. */
function within(tracer: Tracer, sampled: boolean): Context {
  if (sampled) return trace.setSpan(context.active(), tracer.startSpan('request'));
  const ids = { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 0 };
  return trace.setSpanContext(context.active(), ids);
}
