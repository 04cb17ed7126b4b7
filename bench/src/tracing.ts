/**
 * What tracing costs an uncontended acquisition: the processor time of this process for an
 * acquisition with its release, without subscribers, with subscribers on all channels, and the
 * price of the checks alone. The rounds of the two take turns, and each round has a ratio of its
 * own.
 */
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { Holdfast } from 'holdfast';
import { startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import type { Settings } from './settings.js';

const STEPS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];
const OPERATIONS = ['acquire', 'run', 'renew', 'release', 'forced'];
const CHANNELS = OPERATIONS.flatMap((one) =>
  STEPS.map((step) => `tracing:holdfast:${one}:${step}`),
);
/** Acquisitions in one round. */
const ROUND = { quick: 200, full: 5000 };
/** `acquire`, `release` and the hand-off each ask once. */
const CHECKS = 3;
const CHECKED = 5_000_000;

const listen = (): void => undefined;

export async function printTracing({ server, rounds, quick }: Settings): Promise<void> {
  await using target = await startServer({ server });
  const client = new Redis({ host: target.host, port: target.port });
  const holdfast = new Holdfast(client);
  const mutex = holdfast.mutex('bench');
  const size = quick ? ROUND.quick : ROUND.full;
  const round = async (): Promise<number> => {
    const before = process.cpuUsage();
    for (let count = 0; count < size; count++) await (await mutex.acquire()).release();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / size;
  };
  await round();
  const off: number[] = [];
  const on: number[] = [];
  for (let count = 0; count < rounds; count++) {
    off.push(await round());
    for (const name of CHANNELS) subscribe(name, listen);
    on.push(await round());
    for (const name of CHANNELS) unsubscribe(name, listen);
  }
  const alone = median(off);
  const checks = (CHECKS * nsOfCheck()) / 1000;
  const more = median(on.map((one, index) => one / (off[index] as number) - 1));
  console.log('processor time of an uncontended acquire and release');
  console.log(`  no subscriber     ${alone.toFixed(1)} µs, the checks ${percent(checks / alone)}`);
  console.log(`  all channels      ${median(on).toFixed(1)} µs, ${percent(more)} more`);
  await holdfast.close();
  client.disconnect();
}

/** The time of one check whether a channel has a subscriber, in ns. */
function nsOfCheck(): number {
  const channel = tracingChannel('holdfast:acquire');
  let found = 0;
  const before = process.cpuUsage();
  for (let count = 0; count < CHECKED; count++) if (channel.hasSubscribers) found += 1;
  const { user, system } = process.cpuUsage(before);
  if (found > 0) throw new Error('a channel has a subscriber');
  return ((user + system) * 1000) / CHECKED;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}

const percent = (ratio: number): string => `${(ratio * 100).toFixed(2)} %`;
