/** Runs the simulator against one mutant. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Mutant, World } from './mutant.js';
import { withMutant } from './plant.js';

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

const WORKER: string = fileURLToPath(new URL('../dist/worker.js', import.meta.url));

/** @param mutant `undefined` for the unchanged library */
export function hunt(mutant: Mutant | undefined, seeds: Seeds): Promise<Catch> {
  const world = mutant?.world ?? seeds.world ?? 'server';
  return withMutant(mutant, async (folder) => {
    if (mutant?.seed !== undefined) {
      const found = await look(folder, { ...seeds, from: mutant.seed, seeds: 1 }, world);
      if (found.by !== undefined) return found;
    }
    return look(folder, seeds, world);
  });
}

function look(folder: string, { from, seeds, limit }: Seeds, world: string): Promise<Catch> {
  const child = spawn(process.execPath, [WORKER, folder, String(from), String(seeds), world]);
  return new Promise((resolve, reject) => {
    let [last, errors, hangs] = ['', '', false];
    let [count, seed] = [0, from];
    const stop = (): void => {
      hangs = true;
      child.kill('SIGKILL');
    };
    let timer = setTimeout(stop, limit);
    child.stdout.on('data', (chunk: Buffer) => {
      const lines = chunk.toString().trimEnd().split('\n');
      const begun = lines.filter((line) => /^\d+$/.test(line));
      count += begun.length;
      seed = Number(begun.at(-1) ?? seed);
      last = lines.at(-1) ?? last;
      clearTimeout(timer);
      timer = setTimeout(stop, limit);
    });
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      const found = { seeds: count, seed, broken: undefined };
      if (hangs) resolve({ ...found, by: 'hangs', text: `no end after ${limit} ms` });
      else if (code !== 0) resolve({ ...found, by: 'crashes', text: errors.slice(0, 500) });
      else resolve({ ...found, ...caught(last) });
    });
  });
}

function caught(line: string): Pick<Catch, 'by' | 'text' | 'broken'> {
  const result = JSON.parse(line) as { kind?: string; text?: string; broken?: string };
  return { by: result.kind, text: result.text ?? '', broken: result.broken };
}
