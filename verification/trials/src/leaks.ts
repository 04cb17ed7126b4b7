/**
 * Very many acquisitions; some are aborted, time out, are force-released, or end with the kill of
 * their process. Afterwards nothing of them remains: on the server, on connections, in the process.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { paced, type Server, startServer, until } from 'holdfast-testkit';
import { ALLOWED, type Snapshot } from './leaks/monitor.js';
import { OPTIONS } from './leaks/settings.js';
import { Problems } from './support/problems.js';
import { between, randomFrom } from './support/random.js';
import { startWorker } from './support/workers.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';
import type { Given, Result } from './workers/leaks.js';

const CHECK_EVERY_MS = 100;
/**
 * For the resources to be freed. What killed processes have left ends one after another, and each
 * end keeps its key for another retention. A planted fault may leave something for good.
 */
const TIMEOUT_MS = { sound: 90_000, planted: 10_000 };
/** Heap growth allowed, in MiB; a leak of 40 bytes per acquisition exceeds it. */
const HEAP_SLACK = 3;

/** Runs in parallel with the measured process: kills other processes, and checks all keys. */
class BackgroundLoad {
  kills = 0;
  checks = 0;
  mostKeys = 0;
  readonly #server: Server;
  readonly #problems: Problems;
  readonly #given: Given;
  #ended = false;
  readonly #running: Promise<unknown>;

  constructor(server: Server, problems: Problems, all: Given) {
    this.#server = server;
    this.#problems = problems;
    this.#given = all;
    this.#running = Promise.all([this.#kill(), this.#check()]);
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#running;
  }

  /** Starts one process after another that acquires and waits, and kills it at a random time. */
  async #kill(): Promise<void> {
    const random = randomFrom(this.#given.seed);
    while (!this.#ended) {
      const seed = this.#given.seed + 1 + this.kills;
      await using victim = await startWorker('victim', { ...this.#given, seed });
      await sleep(between(random, 100, 500));
      victim.kill();
      this.kills += 1;
    }
  }

  /** Checks that every key has an expiry at all times. */
  async #check(): Promise<void> {
    while (!this.#ended) {
      const names = (await this.#server.command('KEYS', '*')) as string[];
      for (const name of names) {
        const ttl = await this.#server.command('PTTL', name);
        if (ttl === -1) this.#problems.add('key without expiry', name);
      }
      this.mostKeys = Math.max(this.mostKeys, names.length);
      this.checks += 1;
      await sleep(CHECK_EVERY_MS);
    }
  }
}

async function connections(server: Server): Promise<number> {
  return String(await server.command('CLIENT', 'LIST'))
    .trim()
    .split('\n').length;
}

async function run(parameters: Parameters): Promise<Verdict> {
  const { client, seed, trials, tasks, others, fault, primitive } = parameters;
  const problems = new Problems();
  await using server = await startServer({ server: parameters.server });
  const keys = Array.from({ length: others }, (_, index) => `key ${index}`);
  const all: Given = { url: server.url, client, seed, trials, tasks, keys, fault, primitive };
  await using worker = await startWorker('leaks', all);
  const connected = await connections(server);
  const background = new BackgroundLoad(server, problems, all);
  const started = performance.now();
  await worker.send({ type: 'go' });
  try {
    await worker.next('done', { within: 3_600_000 });
  } finally {
    await background.end();
  }
  const seconds = (performance.now() - started) / 1000;
  await worker.send({ type: 'alone' });
  await worker.next('counted', { within: paced(120_000) });
  const { retention } = OPTIONS;
  const waitFor = async (kind: string, state: () => Promise<unknown>): Promise<void> => {
    const limits = {
      within: retention + TIMEOUT_MS[fault === undefined ? 'sound' : 'planted'],
      every: 50,
    };
    await until(state, limits).catch(async (error) => problems.add(kind, String(error)));
  };
  await waitFor('channel', async () => (await channels(server)) === 0);
  await waitFor('connection', async () => (await connections(server)) === connected);
  await waitFor('key', async () => (await server.command('DBSIZE')) === 0);
  await worker.send({ type: 'close' });
  const result = (await worker.next('result', { within: paced(60_000) })) as unknown as Result;
  // no timer or connection keeps the process alive
  const { code } = await worker.exited;
  if (code !== 0) problems.add('exit', `the process exited with ${code}`);
  for (const problem of result.problems) problems.add('error', problem);
  compare(result, problems);
  const { kills, checks, mostKeys } = background;
  const sizes = { kills, 'checks of all keys': checks, 'most keys at once': mostKeys };
  const heap = heapOf(result);
  return verdict({ ...result.counts, ...sizes, seconds, ...heap }, problems.list());
}

async function channels(server: Server): Promise<number> {
  return ((await server.command('PUBSUB', 'CHANNELS')) as unknown[]).length;
}

function compare({ before, early, after }: Result, problems: Problems): void {
  for (const name of Object.keys(before) as (keyof Snapshot)[]) {
    if (name === 'heapMegabytes') continue;
    if (after[name] > before[name] + (ALLOWED[name] ?? 0)) {
      problems.add(name, `${before[name]} before, ${after[name]} afterwards`);
    }
  }
  const growth = after.heapMegabytes - early.heapMegabytes;
  if (growth > HEAP_SLACK) problems.add('heap', `grew by ${growth.toFixed(1)} MiB`);
}

function heapOf({ before, early, after }: Result): Record<string, number> {
  return {
    'heap at first, MiB': before.heapMegabytes,
    'heap after 20 %, MiB': early.heapMegabytes,
    'heap after 100 %, MiB': after.heapMegabytes,
    'timers remaining': after.timers,
    'abort listeners remaining': after.abortListeners,
    'leases remaining': after.leases,
  };
}

export const trial: Trial = {
  name: 'leaks',
  claim: 'no key, channel, connection, timer, listener, lease or queue entry remains',
  full: { trials: 100_000, tasks: 64, others: 64 },
  share: { trials: 600, tasks: 8, others: 8 },
  faults: ['no-withdrawal', 'keeps-listeners'],
  run,
};
