/**
 * Very many acquisitions, of which some are aborted, time out, are ended by force, or die with
 * their process; and then nothing is left of them: in the server, on the wire, in the process.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Server, startServer, until } from 'holdfast-testkit';
import { MORE, type Snapshot } from './leaks/remains.js';
import { OPTIONS } from './leaks/settings.js';
import { Problems } from './support/problems.js';
import { between, randomFrom } from './support/random.js';
import { startWorker } from './support/workers.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';
import type { Given, Told } from './workers/leaks.js';

const LOOK_EVERY_MS = 100;
const PATIENCE_MS = 20_000;
/** The heap is never quite the same twice; a leak of 40 bytes an acquisition is above this. */
const HEAP_SLACK = 3;

/** What runs beside the measured process. */
class Beside {
  kills = 0;
  looks = 0;
  mostKeys = 0;
  readonly #server: Server;
  readonly #problems: Problems;
  readonly #given: Given;
  #over = false;
  readonly #running: Promise<unknown>;

  constructor(server: Server, problems: Problems, all: Given) {
    this.#server = server;
    this.#problems = problems;
    this.#given = all;
    this.#running = Promise.all([this.#kill(), this.#look()]);
  }

  async end(): Promise<void> {
    this.#over = true;
    await this.#running;
  }

  /** One process after the other starts to lock and wait, and is killed in the middle of it. */
  async #kill(): Promise<void> {
    const random = randomFrom(this.#given.seed);
    while (!this.#over) {
      const seed = this.#given.seed + 1 + this.kills;
      await using victim = await startWorker('victim', { ...this.#given, seed });
      await sleep(between(random, 100, 500));
      victim.kill();
      this.kills += 1;
    }
  }

  /** At no moment is there a key that does not expire. */
  async #look(): Promise<void> {
    while (!this.#over) {
      const names = (await this.#server.command('KEYS', '*')) as string[];
      for (const name of names) {
        const left = await this.#server.command('PTTL', name);
        if (left === -1) this.#problems.add('key without expiry', name);
      }
      this.mostKeys = Math.max(this.mostKeys, names.length);
      this.looks += 1;
      await sleep(LOOK_EVERY_MS);
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
  const beside = new Beside(server, problems, all);
  const started = performance.now();
  await worker.send({ type: 'go' });
  try {
    await worker.next('done', { within: 3_600_000 });
  } finally {
    await beside.end();
  }
  const seconds = (performance.now() - started) / 1000;
  await worker.send({ type: 'alone' });
  await worker.next('looked', { within: 120_000 });
  const { retention } = OPTIONS;
  const waited = async (kind: string, what: () => Promise<unknown>): Promise<void> => {
    const patience = { within: retention + PATIENCE_MS, every: 50 };
    await until(what, patience).catch(async (error) => problems.add(kind, String(error)));
  };
  await waited('channel', async () => (await channels(server)) === 0);
  await waited('connection', async () => (await connections(server)) === connected);
  await waited('key', async () => (await server.command('DBSIZE')) === 0);
  await worker.send({ type: 'close' });
  const told = (await worker.next('told', { within: 60_000 })) as unknown as Told;
  // nothing keeps it alive
  const { code } = await worker.exited;
  if (code !== 0) problems.add('exit', `it ended with ${code}`);
  for (const problem of told.problems) problems.add('error', problem);
  compare(told, problems);
  const { kills, looks, mostKeys } = beside;
  const sizes = { kills, 'looks at all keys': looks, 'most keys at once': mostKeys };
  const heap = heapOf(told);
  return verdict({ ...told.counts, ...sizes, seconds, ...heap }, problems.list());
}

async function channels(server: Server): Promise<number> {
  return ((await server.command('PUBSUB', 'CHANNELS')) as unknown[]).length;
}

function compare({ before, early, after }: Told, problems: Problems): void {
  for (const name of Object.keys(before) as (keyof Snapshot)[]) {
    if (name === 'heapMegabytes') continue;
    if (after[name] > before[name] + (MORE[name] ?? 0)) {
      problems.add(name, `${before[name]} before, ${after[name]} afterwards`);
    }
  }
  const growth = after.heapMegabytes - early.heapMegabytes;
  if (growth > HEAP_SLACK) problems.add('heap', `it grew by ${growth.toFixed(1)} MiB`);
}

function heapOf({ before, early, after }: Told): Record<string, number> {
  return {
    'heap at first, MiB': before.heapMegabytes,
    'heap after 20 %, MiB': early.heapMegabytes,
    'heap after 100 %, MiB': after.heapMegabytes,
    'timers left': after.timers,
    'abort listeners left': after.abortListeners,
    'leases left': after.leases,
  };
}

export const trial: Trial = {
  name: 'leaks',
  claim: 'no key, channel, connection, timer, listener, lease or place in a queue is left',
  full: { trials: 100_000, tasks: 64, others: 64 },
  share: { trials: 600, tasks: 8, others: 8 },
  faults: ['no-withdrawal', 'keeps-listeners'],
  run,
};
