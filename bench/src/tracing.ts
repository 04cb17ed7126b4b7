/**
 * What tracing costs an uncontended acquisition: the processor time of this process for an
 * acquisition with its release, without subscribers, with subscribers on all channels, and the
 * price of the checks alone, of the messages alone, and of `holdfast-otel`. The rounds of the two
 * take turns, and each round has a ratio of its own. A round begins with calls that are not
 * counted: with the first subscriber Node gives a channel another prototype, so the code that uses
 * it is compiled again. A program pays this once.
 */
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { Holdfast } from 'holdfast';
import { startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import type { Settings } from './settings.js';
import { otelCosts } from './tracing-otel.js';

const STEPS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];
const OPERATIONS = ['acquire', 'run', 'renew', 'release', 'forced'];
const CHANNELS = OPERATIONS.flatMap((one) =>
  STEPS.map((step) => `tracing:holdfast:${one}:${step}`),
);
/** Acquisitions in one round. */
const ROUND = { quick: 200, full: 5000 };
/** Those at the beginning of a round that are not counted, as a part of it. */
const UNCOUNTED = 1;
/** `acquire`, `release` and the hand-off each ask once. */
const CHECKS = 3;
const CHECKED = 5_000_000;
const PUBLISHED = 100_000;
const REPEATED = 9;

const listen = (): void => undefined;

export async function printTracing({ server, rounds, quick }: Settings): Promise<void> {
  await using target = await startServer({ server });
  const client = new Redis({ host: target.host, port: target.port });
  const holdfast = new Holdfast(client);
  const mutex = holdfast.mutex('bench');
  const size = quick ? ROUND.quick : ROUND.full;
  const acquireAndRelease = async (times: number): Promise<void> => {
    for (let count = 0; count < times; count++) await (await mutex.acquire()).release();
  };
  const round = async (): Promise<number> => {
    await acquireAndRelease(size * UNCOUNTED);
    return microseconds(size, () => acquireAndRelease(size));
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
  const times = quick ? ROUND.full : PUBLISHED;
  for (const name of CHANNELS) subscribe(name, listen);
  const published = await publishing(holdfast, times);
  for (const name of CHANNELS) unsubscribe(name, listen);
  const costs = await otelCosts(holdfast, () => publishing(holdfast, times));
  const more = on.map((one, index) => one / (off[index] as number) - 1);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => percent(quantile(more, part)));
  console.log('processor time of an uncontended acquire and release');
  console.log(`  no subscriber     ${alone.toFixed(1)} µs, the checks ${percent(checks / alone)}`);
  console.log(`  all channels      ${middle} more (quartiles ${low} and ${high})`);
  for (const [name, cost] of [['the messages only', published] as const, ...costs]) {
    console.log(`  ${name.padEnd(17)} ${cost.toFixed(2)} µs, ${percent(cost / alone)}`);
  }
  await holdfast.close();
  client.disconnect();
}

/** The parts that create and publish the messages. They are not public. */
interface Publishes {
  readonly core: {
    readonly telemetry: {
      acquire(request: object, work: () => Promise<unknown>): Promise<unknown>;
      release(message: object, work: () => Promise<unknown>): Promise<unknown>;
    };
  };
}

/**
 * The µs for the messages of an acquisition and its release, for the present subscribers and
 * without the work between them. No command is sent, so other programs change the result little.
 */
async function publishing(holdfast: Holdfast, times: number): Promise<number> {
  const { telemetry } = (holdfast as unknown as Publishes).core;
  const terms = { wait: 1000, label: 'bench' };
  const record = { name: 'id', fence: 1 };
  const granted = async (): Promise<object> => record;
  const released = async (): Promise<string> => 'released';
  const bare = async (): Promise<void> => {
    for (let count = 0; count < times; count++) {
      await granted();
      await released();
    }
  };
  const published = async (): Promise<void> => {
    for (let count = 0; count < times; count++) {
      const request = { key: 'bench', weight: 1, capacity: 1, terms, onProgress: undefined };
      await telemetry.acquire(request, granted);
      const message = { key: 'bench', id: 'id', fence: 1, held: 1 };
      await telemetry.release(message, released);
    }
  };
  const differences: number[] = [];
  for (let count = 0; count < REPEATED; count++) {
    const without = await microseconds(times, bare);
    differences.push((await microseconds(times, published)) - without);
  }
  return median(differences);
}

/** Processor time of this process for each of some calls, in µs. */
async function microseconds(times: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
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

const median = (values: readonly number[]): number => quantile(values, 0.5);

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)] as number;
}

const percent = (ratio: number): string => `${(ratio * 100).toFixed(2)} %`;
