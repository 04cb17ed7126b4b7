/** A meter and a tracer that keep what they get, and a page with the metrics over HTTP. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Context, context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

export interface Recording {
  readonly meter: ReturnType<MeterProvider['getMeter']>;
  readonly tracer: ReturnType<BasicTracerProvider['getTracer']>;
  /** The ended spans. */
  readonly spans: () => ReadableSpan[];
  /** Gets the page as Prometheus does. */
  readonly scrape: () => Promise<string>;
  readonly stop: () => Promise<void>;
}

export async function startRecording(): Promise<Recording> {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const memory = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meters = new MeterProvider({ readers: [exporter] });
  const server = createServer((request, response) =>
    exporter.getMetricsRequestHandler(request, response),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    meter: meters.getMeter('test'),
    tracer: tracers.getTracer('test'),
    spans: () => memory.getFinishedSpans(),
    scrape: async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
    stop: async () => {
      server.close();
      server.closeAllConnections();
      context.disable();
      await Promise.all([meters.shutdown(), tracers.shutdown()]);
    },
  };
}

/** Runs work inside a span of a request. */
export function inRequest<T>(tracer: Recording['tracer'], work: () => Promise<T>): Promise<T> {
  const span = tracer.startSpan('request');
  const inside: Context = trace.setSpan(context.active(), span);
  return context.with(inside, work).finally(() => span.end());
}

/** One line of the page: the name of the metric, its labels, and its value. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the text format of Prometheus. Throws for a line that does not have it. */
export function samplesOf(page: string): Sample[] {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)(?: \d+)?$/u.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a sample: ${line}`);
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/gu)];
    const found = Object.fromEntries(pairs.map(([, label, text]) => [label, text]));
    return { name, labels: found as Record<string, string>, value: Number(value) };
  });
}

/** The value of a sample with these labels; `undefined` if there is none. */
export function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>>,
): number | undefined {
  const fits = (one: Sample): boolean =>
    one.name === name &&
    Object.entries(labels).every(([label, text]) => one.labels[label] === text);
  return samples.find(fits)?.value;
}
