/** Many waiters of one key, each acquires once; locks that are kept; publish and receive. */
import {
  type CrowdOrder,
  type CrowdResult,
  type EchoOrder,
  type EchoResult,
  type HoldOrder,
  type HoldResult,
  now,
  type RestOrder,
  type RestResult,
  type TakeOrder,
  type TakeResult,
} from '../orders.js';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ClientName } from '../variants.js';
import { connect, disconnect } from './clients.js';
import type { Given, Held, Library } from './library.js';
import { countCommands, sentCommands } from './traffic.js';

/** Acquires at the same time. */
const AT_ONCE = 500;

export async function crowd(library: Library, { waiters, key }: CrowdOrder): Promise<CrowdResult> {
  const intervals: number[] = [];
  const cpu = process.cpuUsage();
  const one = async (): Promise<void> => {
    const held = await library.acquire(key);
    const from = now();
    intervals.push(from, now());
    await held.release();
  };
  await Promise.all(Array.from({ length: waiters }, one));
  const { user, system } = process.cpuUsage(cpu);
  return { intervals, cpu: user + system };
}

/** The part of the ttl after which the bench renews: the middle of the library's. */
const RENEW_AT = 0.55;

const kept: Held[] = [];
let stopRenewal = (): void => undefined;

/** Returns a function that collects all garbage and returns the bytes in use. */
function heapMeter(): () => number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
}

export async function hold(library: Library, { locks, renewed }: HoldOrder): Promise<HoldResult> {
  if (renewed !== undefined && library.renew !== undefined) {
    const renew = (): void => void library.renew?.(kept).catch(() => undefined);
    const timer = setInterval(renew, renewed * RENEW_AT);
    stopRenewal = () => clearInterval(timer);
  }
  // a full collection stops the process for as long as a short lease lasts
  const heap = renewed === undefined ? heapMeter() : () => Number.NaN;
  const before = heap();
  for (let at = 0; at < locks; at += AT_ONCE) {
    const count = Math.min(AT_ONCE, locks - at);
    const keys = Array.from({ length: count }, (_, index) => `bench:held:${at + index}`);
    kept.push(...(await Promise.all(keys.map((key) => library.acquire(key)))));
  }
  return { heap: (heap() - before) / locks };
}

export async function rest({ ms, count }: RestOrder): Promise<RestResult> {
  countCommands(count);
  const cpu = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const { user, system } = process.cpuUsage(cpu);
  const commands = sentCommands();
  countCommands(false);
  // to make 100,000 abort signals here would stop the process for longer than the leases last
  const lost = kept.filter(({ held }) => held === false).length;
  return { cpu: user + system, commands, lost };
}

export async function drop(): Promise<Record<string, never>> {
  stopRenewal();
  while (kept.length > 0) {
    await Promise.all(kept.splice(-AT_ONCE).map((held) => held.release()));
  }
  return {};
}

export async function take(library: Library, { key }: TakeOrder): Promise<TakeResult> {
  const held = await library.acquire(key);
  const at = now();
  kept.push(held);
  return { at };
}

/** The floor of a hand-off between two tasks: one message through the server. */
export async function echo({ variant, port }: Given, { ms }: EchoOrder): Promise<EchoResult> {
  const name = variant.client as ClientName;
  const [sender, receiver] = [await connect(name, port), await connect(name, port)];
  const gaps: number[] = [];
  let received = (): void => undefined;
  const channel = 'bench:echo';
  await (receiver.family === 'ioredis'
    ? receiver.client.subscribe(channel)
    : receiver.client.subscribe(channel, () => received()));
  if (receiver.family === 'ioredis') receiver.client.on('message', () => received());
  for (const end = now() + ms; now() < end; ) {
    await new Promise<void>((resolve) => {
      const sent = now();
      received = () => {
        gaps.push(now() - sent);
        resolve();
      };
      void sender.client.publish(channel, 'message');
    });
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  disconnect(sender);
  disconnect(receiver);
  return { gaps };
}
