/**
 * How far a call goes through the library: the files, the moves between files and the functions of
 * an acquisition, a release, a hand-off and a renewal, on a real server. The figures do not depend
 * on the machine.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Holdfast, HoldfastOptions, Lease } from 'holdfast';
import type * as Library from 'holdfast';
import { startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import type { Settings } from '../settings.js';
import { instrument } from './instrument.js';
import { LIMITS, type WayName, WAYS } from './limits.js';
import { countOf, Trace, type WayCount } from './trace.js';

/** The library as modules, not as the package is published. */
const DIST = new URL('../../../packages/holdfast/dist', import.meta.url);
/** Pairs before the first count: what is done once is done then. */
const WARM_UP = 20;
/** Ms without an executed function after which a way has ended. */
const QUIET_MS = 50;
const RENEWED_TTL = 1000;
/** Hand-offs of a root; eight times as many if no other process waits. */
const FEW = 2;
const TASKS = 20;
const RUNS = 3;

export type Counts = Record<WayName, readonly string[]>;

/**
 * The executed functions of each way: the shortest of some runs, because on a busy machine a timer
 * of another step may fire on the way.
 */
export async function walk(server: Settings['server']): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-ways-'));
  const trace = new Trace();
  await using target = await startServer({ server });
  const client = new Redis({ host: target.host, port: target.port });
  try {
    instrument(fileURLToPath(DIST), folder);
    const library = (await import(join(folder, 'index.js'))) as typeof Library;
    const open = (options: HoldfastOptions = {}): Holdfast => new library.Holdfast(client, options);
    const found: Counts[] = [];
    for (let run = 0; run < RUNS; run++) {
      found.push({ ...(await pair(open, trace)), ...(await ends(open, trace)) });
    }
    return Object.fromEntries(WAYS.map((name) => [name, shortest(found, name)])) as Counts;
  } finally {
    trace.remove();
    client.disconnect();
    rmSync(folder, { recursive: true });
  }
}

function shortest(found: readonly Counts[], name: WayName): readonly string[] {
  const ways = found.map((counts) => counts[name]).toSorted((a, b) => a.length - b.length);
  return ways[0] ?? [];
}

type Open = (options?: HoldfastOptions) => Holdfast;

async function pair(open: Open, trace: Trace): Promise<Pick<Counts, PairWay>> {
  const holdfast = open();
  const mutex = holdfast.mutex('way');
  for (let count = 0; count < WARM_UP; count++) await (await mutex.acquire()).release();
  const { functions: acquired, result: lease } = await record(trace, () => mutex.acquire());
  const { functions: released } = await record(trace, () => lease.release());
  const renewed = await mutex.acquire({ ttl: RENEWED_TTL });
  const until = renewed.remaining;
  const { functions: renewal } = await record(trace, async () => {
    // the first renewal has ended, and no second one is due
    while (!trace.reached('lease/inquiries')) await sleep(QUIET_MS);
    await sleep(QUIET_MS);
  });
  if (renewed.remaining < until - RENEWED_TTL / 2) throw new Error('the lease was not renewed');
  await renewed.release();
  await holdfast.close();
  return { acquire: acquired, release: released, renewal };
}

async function ends(open: Open, trace: Trace): Promise<Pick<Counts, EndWay>> {
  const holdfast = open({ localHandOffs: FEW });
  const mutex = holdfast.mutex('ends');
  const first = await mutex.acquire();
  const tasks = Array.from({ length: TASKS }, () => mutex.acquire());
  await sleep(QUIET_MS);
  const found: Partial<Pick<Counts, EndWay>> = {};
  let lease: Lease | undefined = first;
  for (const next of [...tasks, undefined]) {
    const ended: Lease = lease;
    const way = await record(trace, () => ended.release());
    const turned = way.functions.some((name) => name.startsWith('acquire/releaser#command'));
    if (next !== undefined) found[turned ? 'turn' : 'hand-off'] ??= way.functions;
    if (next === undefined) break;
    lease = await next;
  }
  await holdfast.close();
  const { turn, 'hand-off': handOff } = found;
  if (turn === undefined || handOff === undefined) throw new Error('a way was not taken');
  return { turn, 'hand-off': handOff };
}

type PairWay = 'acquire' | 'release' | 'renewal';
type EndWay = Exclude<WayName, PairWay>;

async function record<T>(
  trace: Trace,
  step: () => Promise<T>,
): Promise<{ functions: string[]; result: T }> {
  await sleep(QUIET_MS);
  trace.begin();
  const result = await step();
  return { functions: trace.end(), result };
}

/** `npm run bench -- --ways` */
export async function printWays({ server }: Settings): Promise<void> {
  console.log('what a call passes: files, moves between files (of these back), functions');
  const counts = await walk(server);
  for (const name of WAYS) {
    const count = countOf(counts[name]);
    const { files, moves, back, functions } = count;
    const { title, goal } = LIMITS[name];
    const judged = (['files', 'moves', 'functions'] as const).every(
      (one) => count[one] <= goal[one],
    );
    const wanted = `goal ${goal.files}, ${goal.moves}, ${goal.functions}`;
    console.log(
      `  ${title.padEnd(28)} ${files}, ${moves} (${back}), ${functions}` +
        `   ${wanted}: ${judged ? 'met' : 'NOT MET'}`,
    );
  }
}

/** The figures of a way that are above its limit. */
export function tooFar(name: WayName, count: WayCount): string[] {
  const { most } = LIMITS[name];
  return (['files', 'moves', 'functions'] as const)
    .filter((one) => count[one] > most[one] * ROOM)
    .map((one) => `${name}: ${count[one]} ${one}, the limit is ${most[one]} and 10 %`);
}

/** A way may become longer by a tenth before the check fails. */
const ROOM = 1.1;
