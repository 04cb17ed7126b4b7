/**
 * What idle waiters cost: programs that wait for one lock that stays held. Each has an instance of
 * its own, with a wake connection of its own, as in processes of their own; they share the client
 * for commands. Counts the commands, the calls inside scripts and the CPU time of the server.
 */
import { Holdfast } from 'holdfast';
import { type Server, sleep, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { readServer, type ServerReading, since } from './server-readings.js';
import type { Settings } from './settings.js';

const SIZES = { quick: [1, 20], full: [1, 100, 1000, 4000] };
/** Longer than the longest pause of a waiter, so each one polls at least once. */
const WINDOW_MS = { quick: 2000, full: 20_000 };
/** The time in which the waiters reach their pauses. */
const SETTLING_MS = { quick: 2000, full: 20_000 };
const KEY = 'bench:idle';

export async function printIdle({ server, quick }: Settings): Promise<void> {
  const size = quick ? 'quick' : 'full';
  await using target = await startServer({ server });
  console.log('idle waiters of one key, each in an instance of its own: the server, a second');
  console.log('  waiters  polls  inner calls of a poll  µs of a poll  CPU of the server');
  for (const count of SIZES[size]) {
    const { reading, seconds } = await measure(target, count, size);
    const polls = reading.scripts / seconds;
    const columns = [
      `${count}`.padStart(9),
      polls.toFixed(0).padStart(6),
      (reading.calls / reading.scripts - 1).toFixed(1).padStart(22),
      (reading.scriptTime / reading.scripts).toFixed(0).padStart(13),
      `${((reading.cpu / seconds / 1e6) * 100).toFixed(1)} %`.padStart(18),
    ];
    console.log(columns.join(' '));
  }
}

async function measure(
  target: Server,
  count: number,
  size: 'quick' | 'full',
): Promise<{ reading: ServerReading; seconds: number }> {
  const address = { host: target.host, port: target.port };
  const holders = new Redis(address);
  const clients = new Redis(address);
  const holder = new Holdfast(holders);
  const instances = Array.from({ length: count }, () => new Holdfast(clients));
  const end = new AbortController();
  try {
    const held = await holder.mutex(KEY).acquire({ ttl: 600_000, renew: false });
    const asked = instances.map(async (one) =>
      one.mutex(KEY).acquire({ wait: Number.POSITIVE_INFINITY, signal: end.signal }),
    );
    const waits = Promise.allSettled(asked);
    const all = async (): Promise<boolean> => (await holder.inspect(KEY))?.waiterCount === count;
    await until(all, { within: 60_000, every: 100, what: `${count} waiters` });
    await sleep(SETTLING_MS[size]);
    const [before, from] = [await readServer(target), performance.now()];
    await sleep(WINDOW_MS[size]);
    const reading = since(before, await readServer(target));
    const seconds = (performance.now() - from) / 1000;
    end.abort();
    await waits;
    await held.release();
    return { reading, seconds };
  } finally {
    await Promise.all([holder, ...instances].map(async (one) => one.close()));
    for (const client of [holders, clients]) client.disconnect();
  }
}
