/** Many calls in one turn of the event loop of one process, on real servers. */
import { paced, startCluster } from 'holdfast-testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { Holdfast, Lease } from '../../src/index.js';
import {
  Made,
  membersOf,
  openClient,
  openClients,
  serverOf,
  stopServersAfterwards,
} from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { freshKey } from '../suites/helpers.js';

/** Machines that do other work too need this long. */
const LIMIT_MS = paced(400_000);

const made = new Made();
afterEach(() => made.close());
stopServersAfterwards();

/** What became of calls: each result, and how many calls had it. */
async function results(calls: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const end of await Promise.allSettled(calls)) {
    const text = end.status === 'fulfilled' ? String(end.value) : String(end.reason);
    counts[text] = (counts[text] ?? 0) + 1;
  }
  return counts;
}

/** Takes locks of one key each in one turn, and releases all of them in one turn. */
async function burst(holdfast: Holdfast, count: number): Promise<void> {
  const key = freshKey();
  const leases: Lease[] = [];
  const taken = Array.from({ length: count }, async (_, at) => {
    leases.push(await holdfast.mutex(`${key} ${at}`).acquire());
    return 'taken';
  });
  expect(await results(taken)).toEqual({ taken: count });
  expect(leases.filter(({ held }) => !held)).toEqual([]);
  expect(await results(leases.map((lease) => lease.release()))).toEqual({ freed: count });
}

const settings = { ttl: 60_000, retention: 180_000, requestTimeout: paced(2000) };

describe('100,000 acquisitions and releases of one turn', () => {
  it('succeed', { timeout: LIMIT_MS }, async () => {
    const opened = openClient('ioredis-6', await serverOf('redis'));
    const holdfast = await made.on(opened, settings);
    await burst(holdfast, 100_000);
    expect(holdfast.stats()).toMatchObject({ held: 0, waiting: 0, losses: 0 });
  });
});

describe('many more than the 100 requests under way', () => {
  const few = { ...settings, maxRequests: 100 };
  // a call costs several times as much on a quorum, and fewer of them wait as long
  const COUNT = { cluster: 10_000, quorum: 4000 };

  it('succeed on a cluster', { timeout: LIMIT_MS }, async () => {
    const cluster = await startCluster({ server: 'redis' });
    try {
      const holdfast = await made.on(openCluster('ioredis-6', cluster.nodes), few);
      await burst(holdfast, COUNT.cluster);
      await made.close();
    } finally {
      await cluster.stop();
    }
  });

  it('succeed on a quorum', { timeout: LIMIT_MS }, async () => {
    const clients = openClients(await membersOf(3));
    const holdfast = await made.across(clients, few, { durable: true });
    await burst(holdfast, COUNT.quorum);
  });
});

it('fair calls of each key are granted in their order', { timeout: LIMIT_MS }, async () => {
  const opened = openClient('ioredis-6', await serverOf('redis'));
  const holdfast = await made.on(opened, { ...settings, maxRequests: 7 });
  const key = freshKey();
  const granted: number[][] = Array.from({ length: 20 }, () => []);
  const calls = Array.from({ length: 1000 }, async (_, at) => {
    const of = at % 20;
    const locks = holdfast.semaphore(`${key} ${of}`, { permits: 1, fair: true });
    await locks.run(() => granted[of]?.push(at));
  });
  await Promise.all(calls);
  for (const order of granted) expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(granted.flat()).toHaveLength(1000);
});
