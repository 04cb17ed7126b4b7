/** Runs the simulator against one mutant. */
import { spawn } from 'node:child_process';
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
  /** Milliseconds on one seed after which a run counts as hanging. */
  readonly limit: number;
  /** The simulation of the unchanged library. */
  readonly world?: World;
}

/** The line of a worker that begins with it has the result of a search. */
export const RESULT = 'result ';

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
    const stop = (): void => {
      hangs = true;
      child.kill('SIGKILL');
    };
    let timer = setTimeout(stop, limit);
    createInterface({ input: child.stdout }).on('line', (line) => {
      clearTimeout(timer);
      timer = setTimeout(stop, limit);
      if (line.startsWith(RESULT)) result = caught(line.slice(RESULT.length));
      if (!/^\d+$/.test(line)) return;
      count += 1;
      seed = Number(line);
    });
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.on('close', () => {
      clearTimeout(timer);
      const text = hangs ? `no end after ${limit} ms` : errors.slice(-500);
      const failed = { by: hangs ? 'hangs' : 'crashes', text, broken: undefined };
      resolve({ seeds: count, seed, ...(result ?? failed) });
    });
  });
}

function caught(line: string): Pick<Catch, 'by' | 'text' | 'broken'> {
  const result = JSON.parse(line) as { kind?: string; text?: string; broken?: string };
  return { by: result.kind, text: result.text ?? '', broken: result.broken };
}
