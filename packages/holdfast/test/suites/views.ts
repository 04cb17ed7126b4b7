/** What shows locks: the live view (`holdfast-dashboard`), and gauges (`holdfast-otel`). */
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { type Dashboard, dashboard } from 'holdfast-dashboard';
import { instrument } from 'holdfast-otel';
import { describe, expect, it } from 'vitest';
import type { LockInfo } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { aborted, freshKey, queued } from './helpers.js';

export function viewsSuite(backend: Backend): void {
  describe('the live view', () => viewing(backend));
  describe('the gauges', () => counting(backend));
}

const PAGE = 'http://localhost/';

function viewing(backend: Backend): void {
  it('lists a held lock with its waiters, and ends its lease by force', async () => {
    const one = await backend.make({ label: 'billing' });
    const other = await backend.make({ label: 'reports' });
    const key = freshKey();
    // so that a forced release is noticed at once
    await one.warmUp();
    const lease = await one.mutex(key).acquire();
    const view = dashboard(other, { authorize: () => 'write', every: 10 });
    expect(await rowWith(view, key, 'held')).toMatchObject({ holders: 1, waiters: 0 });
    const next = other.mutex(key).acquire();
    await queued(one, key, 1, [other]);
    expect(await rowWith(view, key, 'contended')).toMatchObject({
      ...{ key, permits: 1, used: 1, holders: 1, waiters: 1, fence: lease.fence },
      holder: expect.stringMatching(/^billing on /),
    });
    const { holders, waiters } = await lockIn(view, key);
    expect(holders).toMatchObject([{ id: lease.id, label: 'billing' }]);
    expect(waiters).toMatchObject([{ label: 'reports' }]);

    const lost = aborted(lease.signal);
    const answer = await endByForce(view, { key, id: lease.id, reason: 'stuck since 02:00' });
    expect(answer).toEqual({ ended: 1, overlap: expect.any(Number) });
    expect((await lost).message).toContain('stuck since 02:00');
    const { fence } = await next;
    expect(fence).toBeGreaterThan(lease.fence);
    expect(await rowWith(view, key, 'held')).toMatchObject({
      holder: expect.stringMatching(/^reports on /),
    });
    await (await next).release();
    view.close();
  });
}

/** The row of a key in the stream of a page, when it has this state. */
async function rowWith(view: Dashboard, key: string, state: string): Promise<object> {
  const { body } = await view.fetch(new Request(`${PAGE}api/events`));
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of body as ReadableStream<Uint8Array>) {
    text += decoder.decode(part, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() as string;
    for (const event of events) {
      const row = rowsIn(event).find((one) => one.key === key && one.state === state);
      if (row !== undefined) return row;
    }
  }
  throw new Error('the stream has ended');
}

interface Row {
  readonly key: string;
  readonly state: string;
}

function rowsIn(event: string): readonly Row[] {
  const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/s.exec(event) ?? [];
  if (name === 'whole') return JSON.parse(data) as Row[];
  return name === 'change' ? (JSON.parse(data) as { rows: Row[] }).rows : [];
}

async function lockIn(view: Dashboard, key: string): Promise<LockInfo> {
  const url = `${PAGE}api/lock?key=${encodeURIComponent(key)}`;
  return (await (await view.fetch(new Request(url))).json()) as LockInfo;
}

async function endByForce(view: Dashboard, asked: object): Promise<unknown> {
  const page = await (await view.fetch(new Request(PAGE))).text();
  const token = /holdfast-csrf['"] content=['"]([^'"]+)/.exec(page)?.[1] ?? '';
  const headers = { 'content-type': 'application/json', 'x-holdfast-csrf': token };
  const init = { method: 'POST', headers, body: JSON.stringify(asked) };
  return (await view.fetch(new Request(`${PAGE}api/release`, init))).json();
}

/** Reads the gauges when it is asked. */
class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

function counting(backend: Backend): void {
  it('count held leases, permits and waiting calls', async () => {
    const reader = new Reader();
    const meters = new MeterProvider({ readers: [reader] });
    const one = await backend.make();
    const other = await backend.make();
    const stops = [one, other].map((each, at) =>
      instrument(each, { meter: meters.getMeter(`${at}`), lockName: (key) => key }),
    );
    const [key, pool] = [freshKey(), freshKey()];
    const gauges = async (at: number): Promise<Record<string, unknown>> => {
      const { resourceMetrics } = await reader.collect();
      const own = resourceMetrics.scopeMetrics.find(({ scope }) => scope.name === `${at}`);
      const points = (own?.metrics ?? []).flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => {
          return [`${descriptor.name} ${String(attributes['lock.name'])}`, value] as const;
        }),
      );
      return Object.fromEntries(points);
    };
    const lease = await one.mutex(key).acquire();
    const permits = await one.semaphore(pool, { permits: 8 }).acquire(3);
    const next = other.mutex(key).acquire();
    await queued(one, key, 1, [other]);
    expect(await gauges(0)).toMatchObject({
      [`holdfast.held ${key}`]: 1,
      [`holdfast.waiting ${key}`]: 0,
      [`holdfast.held ${pool}`]: 1,
      [`holdfast.permits.used ${pool}`]: 3,
      [`holdfast.permits.limit ${pool}`]: 8,
    });
    expect(await gauges(1)).toEqual({
      [`holdfast.held ${key}`]: 0,
      [`holdfast.waiting ${key}`]: 1,
    });
    await lease.release();
    await permits.release();
    await next;
    expect(await gauges(0)).toMatchObject({ [`holdfast.held ${key}`]: 0 });
    expect(await gauges(1)).toMatchObject({
      [`holdfast.held ${key}`]: 1,
      [`holdfast.waiting ${key}`]: 0,
    });
    await (await next).release();
    for (const stop of stops) stop();
    await meters.shutdown();
  });
}
