/**
 * The metrics in real collectors: Prometheus scrapes the exporter's page, and VictoriaMetrics
 * receives them by OTLP. Each query of the dashboard and each alert of the documentation is
 * answered by both. On a machine where they can be neither found nor fetched, these tests are
 * skipped.
 */
import { readFileSync } from 'node:fs';
import { trace } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { Holdfast, memory } from 'holdfast';
import {
  type Collector,
  freePorts,
  prepare,
  type Series,
  startPrometheus,
  startVictoriaMetrics,
  until,
} from 'holdfast-testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { instrument } from '../../src/index.js';
import { asSent, queries } from '../grafana.js';
import { everyMetric } from '../traffic.js';

/** They are fetched once on a machine. */
const FETCH_MS = 310_000;
const SLOW_MS = 180_000;
const PATIENT = { within: 60_000, every: 100 };
const EVERY_MS = 500;
/** Counters that have no value before the first event; an increase needs a value before it. */
const RARE = ['lost', 'forced', 'warnings', 'handoffs', 'renewal_failed'];

let missing: string | undefined;
beforeAll(async () => {
  try {
    await Promise.all([prepare('prometheus'), prepare('victoria-metrics')]);
  } catch (error) {
    missing = String(error);
    console.warn(`skipped: the tests with collectors of metrics. ${missing}`);
  }
}, FETCH_MS);
beforeEach(({ skip }) => skip(missing !== undefined, missing));

const stops: (() => unknown)[] = [];
let prometheus: Collector;
let victoriaMetrics: Collector;

beforeAll(async () => {
  if (missing !== undefined) return;
  const host = '127.0.0.1';
  const [port = 0] = await freePorts(1);
  const page = await new Promise<PrometheusExporter>((resolve, reject) => {
    const exporter = new PrometheusExporter({ host, port }, (error) =>
      error === undefined ? resolve(exporter) : reject(error),
    );
  });
  [prometheus, victoriaMetrics] = await Promise.all([
    startPrometheus([`${host}:${port}`]),
    startVictoriaMetrics(),
  ]);
  const exporter = new OTLPMetricExporter({
    url: `${victoriaMetrics.url}/opentelemetry/v1/metrics`,
  });
  const times = { exportIntervalMillis: EVERY_MS, exportTimeoutMillis: EVERY_MS };
  const meters = new MeterProvider({
    readers: [page, new PeriodicExportingMetricReader({ exporter, ...times })],
  });
  const store = memory();
  const holdfast = new Holdfast(store, { label: 'billing' });
  const other = new Holdfast(store, { label: 'reports' });
  const tracer = trace.getTracer('none');
  stops.push(instrument(holdfast, { meter: meters.getMeter('holdfast'), tracer }));
  stops.push(
    () => Promise.all([holdfast, other].map((one) => one.close({ grace: 0 }))),
    () => meters.shutdown(),
    () => prometheus[Symbol.asyncDispose](),
    () => victoriaMetrics[Symbol.asyncDispose](),
  );
  await holdfast.warmUp();
  // leases and a call that stay
  await holdfast.mutex('kept').acquire();
  await holdfast.semaphore('pool', { permits: 8 }).acquire(2);
  await other.mutex('busy').acquire();
  const waiting = holdfast.mutex('busy').acquire();
  waiting.catch(() => undefined);

  await everyMetric(holdfast, other);
  for (const collector of [prometheus, victoriaMetrics]) {
    for (const name of RARE) {
      const isThere = async (): Promise<boolean> =>
        (await collector.query(`holdfast_${name}_total`)).length > 0;
      await until(isThere, { ...PATIENT, what: name });
    }
  }
  await everyMetric(holdfast, other);
}, SLOW_MS);

afterAll(async () => {
  for (const stop of stops) await stop();
});

const COLLECTORS = {
  'Prometheus, which scrapes the page of the exporter': () => prometheus,
  'VictoriaMetrics, which receives OTLP': () => victoriaMetrics,
};

describe.each(Object.entries(COLLECTORS))('%s', (_, collector) => {
  const query = (expression: string): Promise<Series[]> => collector().query(asSent(expression));

  it(
    'answers each query of the dashboard',
    async () => {
      for (const one of queries) {
        const isAnswered = async (): Promise<boolean> =>
          (await query(one)).some(({ value }) => value > 0);
        await until(isAnswered, { ...PATIENT, what: one });
      }
      const names = await query(queries.at(-1) as string);
      expect(names.map(({ labels }) => labels['lock_name'])).toContain('invoice:{id}');
      // the controls: a metric that does not exist, and a query that is wrong
      expect(await query('rate(holdfast_other_total[$__rate_interval])')).toEqual([]);
      await expect(query('sum by (le) rate(holdfast_held[1m])')).rejects.toThrow('rate');
    },
    SLOW_MS,
  );

  it(
    'answers the alerts of the documentation',
    async () => {
      const page = new URL('../../../../docs/observability.md', import.meta.url);
      const [, block = ''] =
        /Alerts worth having:\n\n```\n(.*?)\n```/su.exec(readFileSync(page, 'utf8')) ?? [];
      const alerts = block.split('\n');
      expect(alerts.length).toBeGreaterThan(2);
      for (const alert of alerts) await query(alert);
      await until(async () => (await query(alerts[0] as string)).length > 0, PATIENT);
    },
    SLOW_MS,
  );
});
