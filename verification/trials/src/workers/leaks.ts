/**
 * The measured process of the trial `leaks`: it runs very many acquisitions of every kind, and then
 * counts the resources that remain in the process.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, isHoldfastError, type Lease, type LockOptions } from 'holdfast';
import { until } from 'holdfast-testkit';
import { CountingClock } from '../leaks/clock.js';
import { ResourceMonitor, type Snapshot } from '../leaks/monitor.js';
import { OPTIONS } from '../leaks/settings.js';
import { plant } from '../lost-replies/faults.js';
import { type ClientName, connect } from '../support/clients.js';
import { type Lock, lockOf, type Primitive, some } from '../support/locks.js';
import { between, pick, type Random, randomFrom } from '../support/random.js';
import { given, send, received } from '../support/workers.js';

export interface Given {
  readonly url: string;
  readonly client: ClientName;
  readonly seed: number;
  /** Acquisitions, all tasks together. */
  readonly trials: number;
  readonly tasks: number;
  readonly keys: readonly string[];
  readonly fault: string | undefined;
  readonly primitive: Primitive;
}

export interface Result {
  readonly before: Snapshot;
  readonly early: Snapshot;
  readonly after: Snapshot;
  readonly counts: Record<string, number>;
  readonly problems: readonly string[];
}

/** The share of acquisitions after which all one-time allocations have been made. */
const EARLY = 0.2;

const all = given<Given>();
const own = all.primitive;
/** The longest wait for resources to be freed; shorter with a planted fault. */
const settleMs = all.fault === undefined ? 15_000 : 2000;
const counts: Record<string, number> = {};
const problems: string[] = [];
/** A long-lived signal, like the shutdown signal of a service. */
const service = new AbortController();
const { client, close } = await connect(all.client, all.url);
const clock = new CountingClock();
const holdfast = new Holdfast(client, { ...OPTIONS, clock });
const monitor = new ResourceMonitor(clock, service.signal, client);

if (all.fault === 'no-withdrawal') plant(client, 'no-withdrawal', () => Promise.resolve());
if (all.fault === 'keeps-listeners') service.signal.removeEventListener = () => undefined;

/** A lock of a key with a random weight. */
function lockFor(random: Random, key: string, options: LockOptions = {}): Lock {
  return lockOf(own, holdfast, key, options, some(own, random));
}

function count(name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** One acquisition of a random kind, and its release. */
async function once(random: Random, key: string): Promise<void> {
  count('acquisitions');
  const options = { fair: random() < 0.3, reentrant: random() < 0.1 };
  const mutex = own === 'mutex' ? holdfast.mutex(key, options) : lockFor(random, key);
  const way = random();
  if (way < 0.1) return end(random, await mutex.tryAcquire());
  if (way < 0.2) return end(random, await mutex.acquire({ wait: between(random, 1, 10) }));
  if (way < 0.3) return aborted(random, key);
  if (way < 0.4) return mutex.run(() => work(random), { signal: service.signal });
  if (way < 0.45) return twice(random, key);
  return end(random, await mutex.acquire({ signal: service.signal }));
}

async function aborted(random: Random, key: string): Promise<void> {
  const soon = new AbortController();
  const timer = setTimeout(() => soon.abort(), between(random, 0, 10));
  try {
    const signal = AbortSignal.any([service.signal, soon.signal]);
    await end(random, await lockFor(random, key).acquire({ signal }));
  } finally {
    clearTimeout(timer);
  }
}

/** An owner that acquires twice. */
async function twice(random: Random, key: string): Promise<void> {
  const owner = `owner ${Math.floor(random() * 1e9)}`;
  const mutex = lockFor(random, key, { sharedBy: owner, onExpiring: () => count('warnings') });
  const outer = await mutex.acquire();
  const inner = await mutex.acquire();
  await end(random, inner);
  await end(random, outer);
}

async function end(random: Random, lease: Lease | null): Promise<void> {
  if (lease === null) return;
  count('granted');
  monitor.watch(lease);
  lease.signal.addEventListener('abort', () => count('lost'), { once: true });
  await work(random);
  const way = random();
  if (way < 0.01) await holdfast.forceRelease(lease.key);
  else if (way < 0.02) await holdfast.forceRelease(lease.key, { id: lease.id });
  await lease.release();
}

async function work(random: Random): Promise<void> {
  const ms = random() < 0.02 ? between(random, 1, 20) : 0;
  if (ms > 0) await sleep(ms);
}

async function task(index: number, share: number): Promise<void> {
  const random = randomFrom(all.seed * 1000 + index);
  for (let done = 0; done < share; done++) {
    try {
      await once(random, pick(random, all.keys));
    } catch (error) {
      if (!isHoldfastError(error)) problems.push(String(error));
      else count(error.code);
    }
  }
}

async function allTasks(acquisitions: number): Promise<void> {
  const share = Math.ceil(acquisitions / all.tasks);
  await Promise.all(Array.from({ length: all.tasks }, (_, index) => task(index, share)));
}

/**
 * An abandoned acquisition that asks for a long lease without renewal. If its withdrawal is
 * missing, the store grants it that lease, and the key is not free in time.
 */
async function abandon(key: string): Promise<void> {
  const held = await lockOf(own, holdfast, key).acquire();
  const soon = new AbortController();
  const long = { ttl: 2 * OPTIONS.retention, renew: false, signal: soon.signal };
  const waits = lockOf(own, holdfast, key).acquire(long);
  const queued = async (): Promise<boolean> => (await holdfast.inspect(key))?.waiters.length === 1;
  await until(queued, { within: settleMs, every: 5, what: 'the waiter is queued' });
  soon.abort();
  await waits.catch(() => undefined);
  await held.release();
}

/** One key after another: the faults change single releases, not several of one step. */
async function abandonAll(): Promise<void> {
  for (const key of all.keys) await abandon(key);
}

/** All keys have neither holders nor waiters, long before they would expire. */
async function waitUntilFree(): Promise<void> {
  const free = async (key: string): Promise<boolean> => (await holdfast.inspect(key)) === null;
  const allFree = async (): Promise<boolean> => {
    return (await Promise.all(all.keys.map(free))).every(Boolean);
  };
  const limits = { within: OPTIONS.retention / 2, every: 20, what: 'all keys are free' };
  await until(allFree, limits).catch(addProblem);
}

function addProblem(error: unknown): void {
  problems.push(String(error));
}

const go = received('go');
const alone = received('alone');
await send('ready');
await go;
// counted before and after the first share, which makes the one-time allocations
const before = await monitor.settled(settleMs);
await allTasks(all.trials * EARLY);
const early = await monitor.settled(settleMs);
await allTasks(all.trials * (1 - EARLY));
await send('done');
await alone;
// these acquisitions also remove killed processes from the queues
await allTasks(all.keys.length * all.tasks);
await abandonAll().catch(addProblem);
await waitUntilFree();
const after = await monitor.settled(settleMs, before);
await send('counted');
await received('close');
await holdfast.close();
close();
await send('result', { before, early, after, counts, problems } satisfies Result);
process.disconnect();
