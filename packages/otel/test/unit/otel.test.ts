/** Spans and metrics, in memory; and the dashboard against a page that was scraped over HTTP. */
import { channel } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import { context, trace } from '@opentelemetry/api';
import { Holdfast, type Lease, memory } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { instrument, type InstrumentOptions, lockName } from '../../src/index.js';
import { dashboard, queries } from '../grafana.js';
import {
  inRequest,
  type Recording,
  type Sample,
  samplesOf,
  startRecording,
  valueOf,
} from '../recorded.js';
import { everyMetric } from '../traffic.js';

/** On a busy machine the tests that use servers come first. */
const PATIENT = { timeout: 30_000 };

let recording: Recording;
let holdfast: Holdfast;
let other: Holdfast;
let stop: () => void;

beforeEach(async () => {
  recording = await startRecording();
  const store = memory();
  holdfast = new Holdfast(store, { label: 'billing' });
  other = new Holdfast(store, { label: 'reports' });
  stop = observe();
  // so that a forced release is noticed at once
  await holdfast.warmUp();
});

afterEach(async () => {
  stop();
  await Promise.all([holdfast.close({ grace: 0 }), other.close({ grace: 0 })]);
  await recording.stop();
});

function observe(options: InstrumentOptions = {}): () => void {
  const { meter, tracer } = recording;
  return instrument(holdfast, { meter, tracer, holderAfter: 0, ...options });
}

async function scraped(): Promise<Sample[]> {
  return samplesOf(await recording.scrape());
}

/** Waits for `key` in `holdfast` while `other` holds it. Resolves to the lease. */
async function afterWait(key: string): Promise<Lease> {
  const before = await other.mutex(key).acquire();
  const inspect = vi.spyOn(holdfast, 'inspect');
  const waiting = inRequest(recording.tracer, () => holdfast.mutex(key).acquire());
  await vi.waitFor(() => expect(inspect).toHaveResolved(), PATIENT);
  await before.release();
  return waiting;
}

describe('the span of an acquisition', () => {
  it('is in the trace of its caller, and says how long it waited and for which one', async () => {
    const lease = await afterWait('invoice:42');
    await lease.release();
    const [request, acquire] = ['request', 'acquire invoice:{id}'].map((name) =>
      recording.spans().find((span) => span.name === name),
    );
    expect(acquire?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
    const [event] = acquire?.events ?? [];
    const holder = `held by host ${hostname()}, process ${process.pid} (reports)`;
    expect(event?.name).toMatch(/^waited \d+ ms for invoice:42, held by host /u);
    expect(event?.name).toContain(holder);
    expect(acquire?.attributes).toMatchObject({
      'lock.name': 'invoice:{id}',
      'holdfast.key': 'invoice:42',
      'holdfast.holder.host': hostname(),
      'holdfast.holder.label': 'reports',
      'holdfast.outcome': 'granted',
      'holdfast.fence': lease.fence,
    });
  });

  it('without a wait asks for no holder, and has no event', async () => {
    const inspect = vi.spyOn(holdfast, 'inspect');
    await holdfast.mutex('k').run(() => undefined);
    const names = recording.spans().map(({ name, events }) => [name, events.length]);
    expect(names).toEqual([
      ['acquire k', 0],
      ['hold k', 0],
    ]);
    expect(inspect).not.toHaveBeenCalled();
  });

  it('ends with `stop` if the call still waits', async () => {
    const before = await other.mutex('k').acquire();
    const waiting = holdfast.mutex('k').acquire();
    await vi.waitFor(
      async () => expect(await other.inspect('k')).toMatchObject({ waiterCount: 1 }),
      20_000,
    );
    stop();
    expect(recording.spans().map(({ name }) => name)).toEqual(['acquire k']);
    await before.release();
    await (await waiting).release();
    expect(recording.spans()).toHaveLength(1);
  });

  it('of a failure has its code', async () => {
    await other.mutex('k').acquire();
    await holdfast
      .mutex('k')
      .acquire({ wait: 20 })
      .catch(() => undefined);
    const [span] = recording.spans();
    expect(span?.attributes).toMatchObject({ 'error.type': 'HOLDFAST_TIMEOUT' });
    expect(span?.status).toMatchObject({ code: 2, message: expect.stringContaining('"k"') });
  });

  it('is left out outside a trace with `requireParentSpan`', async () => {
    stop();
    stop = observe({ requireParentSpan: true });
    const run = (): Promise<void> => holdfast.mutex('k').run(() => undefined);
    await run();
    expect(recording.spans()).toEqual([]);
    await inRequest(recording.tracer, run);
    expect(recording.spans().map(({ name }) => name)).toEqual(['acquire k', 'hold k', 'request']);
  });

  it.each([
    ['is not created in a trace that is not sampled', 0, []],
    ['is created in a sampled trace of another process', 1, ['acquire k', 'hold k']],
  ])('%s', async (_, traceFlags, names) => {
    const started = vi.spyOn(recording.tracer, 'startSpan');
    const ids = { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags };
    const inside = trace.setSpanContext(context.active(), ids);
    await context.with(inside, () => holdfast.mutex('k').run(() => undefined));
    expect(started.mock.calls.map(([name]) => name)).toEqual(names);
  });
});

describe('the span of a hold', () => {
  const holds = (): (string | undefined)[][] =>
    recording
      .spans()
      .filter(({ name }) => name.startsWith('hold '))
      .map(({ name, status, parentSpanContext }) => [
        name,
        status.message,
        parentSpanContext?.spanId,
      ]);

  it('begins with the grant, in the trace of the caller, and ends with the release', async () => {
    const started = vi.spyOn(recording.tracer, 'startSpan');
    const lease = await inRequest(recording.tracer, () => holdfast.mutex('k').acquire());
    expect(started.mock.calls.map(([name]) => name)).toEqual(['request', 'acquire k', 'hold k']);
    expect(holds()).toEqual([]);
    await lease.release();
    const request = recording.spans().find(({ name }) => name === 'request');
    expect(holds()).toEqual([['hold k', undefined, request?.spanContext().spanId]]);
  });

  it('ends with the loss, and has its reason', async () => {
    const lease = await holdfast.mutex('k').acquire();
    await other.forceRelease('k', { reason: 'stuck' });
    await vi.waitFor(() => expect(lease.state).toBe('lost'), PATIENT);
    await lease.release();
    expect(holds()).toEqual([['hold k', expect.stringContaining('stuck'), undefined]]);
  });

  it('is one for each task, also after a local hand-off', async () => {
    const first = await holdfast.mutex('k').acquire();
    const second = holdfast.mutex('k').acquire();
    await first.release();
    await (await second).release();
    expect(holds()).toHaveLength(2);
  });

  it('ends with `stop`', async () => {
    await holdfast.mutex('k').acquire();
    stop();
    expect(holds()).toHaveLength(1);
  });
});

describe('the metrics', () => {
  it('have the durations in seconds, by lock and outcome', async () => {
    const lease = await afterWait('invoice:42');
    await lease.release();
    await holdfast.mutex('invoice:43').run(() => undefined);
    const samples = await scraped();
    const name = 'holdfast_acquire_duration';
    const labels = { lock_name: 'invoice:{id}', holdfast_outcome: 'granted' };
    expect(valueOf(samples, `${name}_count`, { ...labels, holdfast_queued: 'true' })).toBe(1);
    expect(valueOf(samples, `${name}_count`, { ...labels, holdfast_queued: 'false' })).toBe(1);
    const waited = valueOf(samples, `${name}_sum`, { ...labels, holdfast_queued: 'true' });
    expect(waited).toBeGreaterThan(0);
    expect(waited).toBeLessThan(30);
    const held = { lock_name: 'invoice:{id}', holdfast_outcome: 'released' };
    expect(valueOf(samples, 'holdfast_hold_duration_count', held)).toBe(2);
  });

  it('have the leases and the waiters of now, and 0 afterwards', async () => {
    const lease = await holdfast.mutex('job:1').acquire();
    const waiting = holdfast.mutex('job:1').acquire();
    const labels = { lock_name: 'job:{id}' };
    const before = await scraped();
    expect(valueOf(before, 'holdfast_held', labels)).toBe(1);
    expect(valueOf(before, 'holdfast_waiting', labels)).toBe(1);
    await lease.release();
    await (await waiting).release();
    const after = await scraped();
    expect(valueOf(after, 'holdfast_held', labels)).toBe(0);
    expect(valueOf(after, 'holdfast_waiting', labels)).toBe(0);
  });

  it('have the permits of semaphores in use, and their limit', async () => {
    const lease = await holdfast.semaphore('pool:7', { permits: 8 }).acquire(3);
    await holdfast.mutex('job').acquire();
    await holdfast.rwLock('table').read.acquire();
    const [used, limit] = ['holdfast_permits_used', 'holdfast_permits_limit'];
    const labels = { lock_name: 'pool:{id}' };
    const samples = await scraped();
    expect(valueOf(samples, used, labels)).toBe(3);
    expect(valueOf(samples, limit, labels)).toBe(8);
    // other locks have none
    expect(samples.filter(({ name }) => name === used || name === limit)).toHaveLength(2);
    await lease.release();
    expect(valueOf(await scraped(), used, labels)).toBe(0);
  });

  it('add up the instances of a process', async () => {
    const { meter, tracer } = recording;
    const stopOther = instrument(other, { meter, tracer });
    await holdfast.mutex('job:1').acquire();
    await other.mutex('job:2').acquire();
    await other.mutex('job:3').acquire();
    const labels = { lock_name: 'job:{id}' };
    expect(valueOf(await scraped(), 'holdfast_held', labels)).toBe(3);
    stopOther();
    expect(valueOf(await scraped(), 'holdfast_held', labels)).toBe(1);
  });

  it('have lost leases with a reason that names no process', async () => {
    const lease = await holdfast.mutex('k').acquire();
    await other.forceRelease('k', { reason: 'stuck' });
    await vi.waitFor(() => expect(lease.state).toBe('lost'), PATIENT);
    const labels = { lock_name: 'k', holdfast_reason: 'forced' };
    const samples = await scraped();
    expect(valueOf(samples, 'holdfast_lost_total', labels)).toBe(1);
    const held = { lock_name: 'k', holdfast_outcome: 'lost' };
    expect(valueOf(samples, 'holdfast_hold_duration_count', held)).toBe(1);
  });

  it('count a hold once whose release had no answer and was repeated', async () => {
    const message = { instance: { id: holdfast.id }, key: 'k', id: 'i', fence: 1, held: 5 };
    const ended = channel('tracing:holdfast:release:asyncEnd');
    ended.publish({ ...message, error: new Error('no answer') });
    ended.publish({ ...message, outcome: 'freed' });
    const held = { lock_name: 'k', holdfast_outcome: 'released' };
    expect(valueOf(await scraped(), 'holdfast_hold_duration_count', held)).toBe(1);
  });

  it('end with `stop`', async () => {
    stop();
    await holdfast.mutex('k').run(() => undefined);
    const found = (await scraped()).filter(({ name }) => name.startsWith('holdfast'));
    expect(found).toEqual([]);
    expect(recording.spans()).toEqual([]);
  });

  it('are those of one instance', async () => {
    await other.mutex('k').run(() => undefined);
    const found = (await scraped()).filter(({ name }) => name.startsWith('holdfast'));
    expect(found).toEqual([]);
  });
});

describe('the name of a lock', () => {
  it.each([
    ['deploy', 'deploy'],
    ['invoice:42', 'invoice:{id}'],
    ['user:6d1ab1f2-7f0e-4f63-9d5a-6a3f6f0b8a11:mail', 'user:{id}:mail'],
    ['shop:eu-west:stock', 'shop:eu-west:stock'],
    ['a b', '{id}'],
    ['abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz', '{id}'],
    ['', '{id}'],
  ])('of %j is %s', (key, name) => {
    expect(lockName(key)).toBe(name);
  });

  it('is `{other}` after the first ones, so there are never too many series', async () => {
    stop();
    stop = observe({ maxLockNames: 5, lockName: (key) => key });
    for (let count = 0; count < 50; count++) await holdfast.mutex(`k${count}`).run(() => undefined);
    const names = new Set((await scraped()).map(({ labels }) => labels['lock_name']));
    names.delete(undefined);
    expect([...names]).toEqual(['k0', 'k1', 'k2', 'k3', 'k4', '{other}']);
  });
});

describe('the dashboard of Grafana', () => {
  /** The metrics and labels of a query that a page does not have. */
  function missing(query: string, samples: readonly Sample[]): string[] {
    const names = new Set(samples.map(({ name }) => name));
    const labels = new Set(samples.flatMap((one) => Object.keys(one.labels)));
    // a label of the scrape itself
    labels.add('instance');
    const by = [...query.matchAll(/ by \(([^)]*)\)/gu)].flatMap(([, list = '']) =>
      list.split(', '),
    );
    const selected = [...query.matchAll(/[{ ](\w+)=~/gu)].map(([, label]) => label as string);
    const used = [...by, ...selected].filter((label) => label !== '__name__');
    // the exporter of OpenTelemetry writes no unit, other ways to Prometheus do
    const patterns = [...query.matchAll(/__name__=~"([^"]+)"/gu)].map(([, one]) => one as string);
    const plain = query.match(/(?<!["\w])holdfast_\w+(?=[{[,)])/gu) ?? [];
    const metrics = [...patterns, ...plain].filter((one) => !used.includes(one));
    const exists = (metric: string): boolean =>
      [...names].some((name) => new RegExp(`^(${metric})$`, 'u').test(name));
    if (metrics.length === 0) return [query];
    return [
      ...metrics.filter((metric) => !exists(metric)),
      ...used.filter((label) => !labels.has(label)),
    ];
  }

  /** A page with each metric. */
  async function whole(): Promise<Sample[]> {
    await holdfast.mutex('kept').acquire();
    await everyMetric(holdfast, other);
    await vi.dynamicImportSettled();
    return scraped();
  }

  it('queries only metrics and labels that a scrape has', async () => {
    const samples = await whole();
    expect(queries.length).toBeGreaterThan(15);
    expect(queries.flatMap((query) => missing(query, samples))).toEqual([]);
    // the control
    expect(
      missing('sum by (lock) (rate(holdfast_held_total{lock_name=~"$lock"}[5m]))', samples),
    ).toEqual(['holdfast_held_total', 'lock']);
  });

  it('shows each metric', async () => {
    const exported = (await whole()).map(({ name }) => name.replace(/_(bucket|sum|count)$/u, ''));
    const metrics = new Set(exported.filter((name) => name.startsWith('holdfast_')));
    const shown = (name: string): boolean => queries.some((query) => query.includes(name));
    expect([...metrics].filter((name) => !shown(name))).toEqual([]);
    expect(metrics.size).toBeGreaterThan(8);
  });

  it('is of the classic schema, and asks for its data source', () => {
    expect(dashboard.schemaVersion).toBeLessThan(42);
    const [datasource] = dashboard.templating.list;
    expect(datasource).toMatchObject({ name: 'datasource', type: 'datasource' });
    const sources = new Set(dashboard.panels.map((panel) => panel.datasource.uid));
    expect([...sources]).toEqual(['${datasource}']);
  });
});
