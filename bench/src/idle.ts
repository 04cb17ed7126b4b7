/**
 * What idle waiters cost: programs that wait for one lock that stays held, at a closed latch or
 * barrier, or at a condition without a signal. Each has an instance of
 * its own, with a wake connection of its own, as in processes of their own; they share the client
 * for commands. Counts the commands, the calls inside scripts and the CPU time of the server.
 */
import { Holdfast, HoldfastError } from 'holdfast';
import { type Server, sleep, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { MAX_CLIENTS } from './scale/sites.js';
import { callsByName, perOne, readServer, type ServerReading, since } from './server-readings.js';
import type { IdlePlace, Settings } from './settings.js';

const SIZES = { quick: [1, 20], full: [1, 100, 1000, 10_000] };
/** A barrier has at most 10,000 parties, and one of them is missing. */
const AT_BARRIER = 9999;
/** No generation ends and no lease expires meanwhile. */
const TTL_MS = 600_000;
/** Twice the longest pause of a waiter. */
const WINDOW_MS = { quick: 2000, full: 32_000 };
/** The time in which the waiters reach their pauses: the first pauses of early ones are short. */
const SETTLING_MS = { quick: 2000, full: 40_000 };
/** On a busy machine, requests need more than the usual limit. */
const TIMEOUT_MS = 20_000;
/** So many begin to wait together. */
const TOGETHER = 200;
const BETWEEN_MS = 300;
const KEY = 'bench:idle';

export async function printIdle({ places, server, quick }: Settings): Promise<void> {
  const size = quick ? 'quick' : 'full';
  await using target = await startServer({ server, args: [...MAX_CLIENTS] });
  console.log('idle waiters of one key, each in an instance of its own: the server, a second');
  console.log('  waiters at a  polls  inner calls of a poll  µs of a poll  CPU of the server');
  const loads = places.flatMap((at) => {
    const counts = at === 'mutex' ? SIZES[size] : SIZES[size].slice(-2);
    const most = at === 'barrier' ? AT_BARRIER : Number.POSITIVE_INFINITY;
    return counts.map((count) => ({ at, count: Math.min(count, most) }));
  });
  for (const { at, count } of loads) {
    const { calls, reading, seconds } = await measure(target, at, count, size);
    const polls = reading.scripts / seconds;
    const columns = [
      `  ${count} ${at}`.padEnd(14),
      polls.toFixed(0).padStart(6),
      (reading.calls / reading.scripts - 1).toFixed(1).padStart(22),
      (reading.scriptTime / reading.scripts).toFixed(0).padStart(13),
      `${((reading.cpu / seconds / 1e6) * 100).toFixed(1)} %`.padStart(18),
    ];
    console.log(columns.join(' '));
    console.log(`    each: ${perOne(calls, reading.scripts)}`);
  }
}

async function measure(
  target: Server,
  at: IdlePlace,
  count: number,
  size: 'quick' | 'full',
): Promise<{ calls: Map<string, number>; reading: ServerReading; seconds: number }> {
  const address = { host: target.host, port: target.port };
  const holders = new Redis(address);
  const clients = new Redis(address);
  const holder = new Holdfast(holders);
  const instances = Array.from(
    { length: count },
    () => new Holdfast(clients, { requestTimeout: TIMEOUT_MS }),
  );
  const end = new AbortController();
  try {
    const key = `${KEY}:${at}`;
    const isQueue = at === 'mutex';
    const held = isQueue
      ? await holder.mutex(key).acquire({ ttl: TTL_MS, renew: false })
      : undefined;
    const begun: Promise<void>[] = [];
    for (const [place, one] of instances.entries()) {
      if (place > 0 && place % TOGETHER === 0) await sleep(BETWEEN_MS);
      const waits = waitAt(one, at, key, count, end.signal);
      waits.catch(() => undefined);
      begun.push(waits);
    }
    const waits = Promise.allSettled(begun);
    const all = async (): Promise<boolean> => {
      if (at === 'latch' || at === 'barrier') {
        return (await holders.hlen(`holdfast:{${key}}:g`)) > count;
      }
      const found = await holder.inspect(key);
      return (isQueue ? found?.waiterCount : found?.parkedCount) === count;
    };
    const begin = until(all, { within: 600_000, every: 100, what: `${count} waiters` });
    // none of them ends, unless it fails
    const failed = Promise.all(begun);
    await Promise.race([begin, failed]);
    await Promise.race([sleep(SETTLING_MS[size]), failed]);
    const [before, from] = [await readServer(target), performance.now()];
    const calls = await callsByName([target]);
    // a barrier breaks if the machine is too busy for the polls of its parties
    await Promise.race([sleep(WINDOW_MS[size]), failed]);
    const reading = since(before, await readServer(target));
    const named = await callsByName([target], calls);
    const seconds = (performance.now() - from) / 1000;
    end.abort();
    await waits;
    await held?.release();
    return { calls: named, reading, seconds };
  } finally {
    await Promise.all([holder, ...instances].map(async (one) => one.close()));
    for (const client of [holders, clients]) client.disconnect();
  }
}

async function waitAt(
  holdfast: Holdfast,
  at: IdlePlace,
  key: string,
  count: number,
  signal: AbortSignal,
): Promise<void> {
  const limits = { wait: Number.POSITIVE_INFINITY, signal };
  if (at === 'latch') return holdfast.latch(key, { count: 1, ttl: TTL_MS }).await(limits);
  if (at === 'barrier') {
    await holdfast.barrier(key, { parties: count + 1 }).await(limits);
    return;
  }
  const mutex = holdfast.mutex(key);
  if (at === 'mutex') {
    await mutex.acquire(limits);
    return;
  }
  for (;;) {
    const lease = await mutex.acquire(limits);
    try {
      await mutex.condition('signalled').await(lease, limits);
      return;
    } catch (error) {
      // on a busy machine, a lease may end before its holder waits
      if (!(error instanceof HoldfastError) || error.code !== 'HOLDFAST_LOST') throw error;
    } finally {
      await lease.release();
    }
  }
}
