/**
 * The spans over the wire: the exporter of OpenTelemetry sends them to a server, which reads them
 * by the published schema. No collector of traces can be had in the tests.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { Holdfast, memory } from 'holdfast';
import { until } from 'holdfast-testkit';
import protobuf from 'protobufjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { instrument } from '../../src/index.js';
import { inRequest } from '../recorded.js';

/** The part of opentelemetry-proto 1.x that is read. */
const SCHEMA = `
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; }
message InstrumentationScope { string name = 1; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; }
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
  }
}`;
const REQUEST = protobuf.parse(SCHEMA).root.lookupType('ExportTraceServiceRequest');
const CLIENT = 3;

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: { key: string; value: Record<string, unknown> }[];
  readonly events: { name: string }[];
  readonly status?: { code: number };
}

interface Received {
  readonly resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
}

const received: Span[] = [];
let types: (string | undefined)[] = [];
const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    types.push(request.headers['content-type']);
    const message = REQUEST.decode(Buffer.concat(parts));
    const options = { longs: Number, bytes: String, arrays: true };
    const { resourceSpans } = REQUEST.toObject(message, options) as Received;
    for (const { scopeSpans } of resourceSpans) {
      for (const { spans } of scopeSpans) received.push(...spans);
    }
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
});

let tracers: BasicTracerProvider;
let holdfast: Holdfast;
let other: Holdfast;
let stop: () => void;

beforeEach(async () => {
  received.length = 0;
  types = [];
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });
  tracers = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const store = memory();
  holdfast = new Holdfast(store, { label: 'billing' });
  other = new Holdfast(store, { label: 'reports' });
  stop = instrument(holdfast, { tracer: tracers.getTracer('holdfast'), holderAfter: 0 });
});

afterEach(async () => {
  stop();
  await Promise.all([holdfast, other].map((one) => one.close({ grace: 0 })));
  await tracers.shutdown();
  context.disable();
  server.close();
  server.closeAllConnections();
});

it('a slow request says what it waited for, and which process held it', async () => {
  const before = await other.mutex('invoice:42').acquire();
  const inspect = vi.spyOn(holdfast, 'inspect');
  const slow = inRequest(tracers.getTracer('app'), async () => {
    await holdfast.mutex('invoice:42').run(() => undefined);
    await holdfast
      .mutex('busy')
      .acquire({ wait: 0 })
      .catch(() => undefined);
  });
  await other.mutex('busy').acquire();
  const isKnown = (): boolean =>
    inspect.mock.settledResults.some(({ type }) => type === 'fulfilled');
  await until(isKnown, { within: 30_000 });
  await before.release();
  await slow;
  await tracers.forceFlush();
  await until(() => received.length >= 4, { within: 30_000 });

  expect(new Set(types)).toEqual(new Set(['application/x-protobuf']));
  const named = (name: string): Span => received.find((span) => span.name === name) as Span;
  const [request, acquire] = [named('request'), named('acquire invoice:{id}')];
  expect(new Set(received.map(({ traceId }) => traceId)).size).toBe(1);
  expect(acquire).toMatchObject({ parentSpanId: request.spanId, kind: CLIENT });
  const holder = new RegExp(
    `^waited \\d+ ms for invoice:42, held by host \\S+, process ${process.pid} \\(reports\\)$`,
    'u',
  );
  expect(acquire.events.map(({ name }) => name)).toEqual([expect.stringMatching(holder)]);
  const attributes = Object.fromEntries(acquire.attributes.map(({ key, value }) => [key, value]));
  expect(attributes).toMatchObject({
    'lock.name': { stringValue: 'invoice:{id}' },
    'holdfast.key': { stringValue: 'invoice:42' },
    'holdfast.holder.label': { stringValue: 'reports' },
    'holdfast.holder.pid': { intValue: process.pid },
    'holdfast.outcome': { stringValue: 'granted' },
  });
  expect(named('hold invoice:{id}')).toMatchObject({ parentSpanId: request.spanId });
});
