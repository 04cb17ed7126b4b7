/** Runs the simulator against one mutant. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Mutant, World } from './mutant.js';
import { withLinks } from './plant.js';

/** The result of the search for a mutant. */
export interface Catch {
  /** The check that found it; `undefined` if none did. */
  readonly by: string | undefined;
  readonly text: string;
  /** The first broken invariant of the engine until then: a finding of its own kind. */
  readonly broken: string | undefined;
  /** Number of seeds that were run. */
  readonly seeds: number;
  /** The last of them. */
  readonly seed: number;
}

/** They are run after the known seed of a mutant. */
export interface Seeds {
  readonly from: number;
  readonly seeds: number;
  /** Milliseconds of processor time on one seed after which a run counts as hanging. */
  readonly limit: number;
  /** The simulation of the unchanged library. */
  readonly world?: World;
}

/** The line of a worker that begins with it has the result of a search. */
export const RESULT = 'result ';

const LOOK_EVERY_MS = 500;
/** One that does not compute counts as hanging after so many limits of time. */
const IDLE = 10;
/** What `/proc` counts in, in ms. */
const TICK_MS = 10;

const WORKER: string = fileURLToPath(new URL('../dist/worker.js', import.meta.url));

/** @param mutant `undefined` for the unchanged library */
export function hunt(mutant: Mutant | undefined, seeds: Seeds): Promise<Catch> {
  const world = mutant?.world ?? seeds.world ?? 'server';
  return withLinks(mutant, async (folder) => {
    if (mutant?.seed !== undefined) {
      const found = await look(folder, { ...seeds, from: mutant.seed, seeds: 1 }, world);
      if (found.by !== undefined) return found;
    }
    return look(folder, seeds, world);
  });
}

/**
 * A process of its own for each search: a run that was stopped at a violation goes on, and would
 * take the processor from the next search.
 */
function look(folder: string, { from, seeds, limit }: Seeds, world: string): Promise<Catch> {
  const search = JSON.stringify({ folder, from, seeds, world });
  const child = spawn(process.execPath, ['--preserve-symlinks', WORKER, search]);
  return new Promise((resolve) => {
    let [count, seed, hangs, errors] = [0, from, false, ''];
    let result: ReturnType<typeof caught> | undefined;
    let heard = usageOf(child.pid);
    const timer = setInterval(() => {
      const { cpu, at } = usageOf(child.pid);
      hangs ||= cpu - heard.cpu >= limit || at - heard.at >= IDLE * limit;
      if (hangs) child.kill('SIGKILL');
    }, LOOK_EVERY_MS);
    createInterface({ input: child.stdout }).on('line', (line) => {
      heard = usageOf(child.pid);
      if (line.startsWith(RESULT)) result = caught(line.slice(RESULT.length));
      if (!/^\d+$/.test(line)) return;
      count += 1;
      seed = Number(line);
    });
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.on('close', () => {
      clearInterval(timer);
      const text = hangs ? `no end after ${limit} ms of processor time` : errors.slice(-500);
      const failed = { by: hangs ? 'hangs' : 'crashes', text, broken: undefined };
      resolve({ seeds: count, seed, ...(result ?? failed) });
    });
  });
}

/**
 * The processor time of a process, and the present time, in ms. A busy machine gives a process of a
 * low priority little of it. Only Linux tells it: elsewhere all time counts.
 */
function usageOf(pid: number | undefined): { readonly cpu: number; readonly at: number } {
  const at = performance.now();
  if (process.platform !== 'linux') return { cpu: at, at };
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // after the name, which may have spaces
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { cpu: (Number(fields[11]) + Number(fields[12])) * TICK_MS, at };
  } catch {
    // it has ended
    return { cpu: 0, at };
  }
}

function caught(line: string): Pick<Catch, 'by' | 'text' | 'broken'> {
  const result = JSON.parse(line) as { kind?: string; text?: string; broken?: string };
  return { by: result.kind, text: result.text ?? '', broken: result.broken };
}
