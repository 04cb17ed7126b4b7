/** Runs the simulator against one mutant. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './mutant.js';
import { withMutant } from './plant.js';

/** The result of the search for a mutant. */
export interface Catch {
  /** The check that found it; `undefined` if none did. */
  readonly by: string | undefined;
  readonly text: string;
  /** Number of seeds that were run. */
  readonly seeds: number;
}

export interface Seeds {
  readonly from: number;
  readonly seeds: number;
  /** Milliseconds on one seed after which a run counts as hanging. */
  readonly limit: number;
}

const WORKER: string = fileURLToPath(new URL('../dist/worker.js', import.meta.url));

/** @param mutant `undefined` for the unchanged library */
export function hunt(mutant: Mutant | undefined, seeds: Seeds): Promise<Catch> {
  return withMutant(mutant, (folder) => look(folder, seeds));
}

function look(folder: string, { from, seeds, limit }: Seeds): Promise<Catch> {
  const child = spawn(process.execPath, [WORKER, folder, String(from), String(seeds)]);
  return new Promise((resolve, reject) => {
    let [last, errors, hangs] = ['', '', false];
    let count = 0;
    const stop = (): void => {
      hangs = true;
      child.kill('SIGKILL');
    };
    let timer = setTimeout(stop, limit);
    child.stdout.on('data', (chunk: Buffer) => {
      const lines = chunk.toString().trimEnd().split('\n');
      count += lines.filter((line) => /^\d+$/.test(line)).length;
      last = lines.at(-1) ?? last;
      clearTimeout(timer);
      timer = setTimeout(stop, limit);
    });
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      if (hangs) resolve({ by: 'hangs', text: `no end after ${limit} ms`, seeds: count });
      else if (code !== 0) resolve({ by: 'crashes', text: errors.slice(0, 500), seeds: count });
      else if (last.startsWith('{')) resolve({ ...caught(last), seeds: count });
      else resolve({ by: undefined, text: '', seeds: count });
    });
  });
}

function caught(line: string): { readonly by: string; readonly text: string } {
  const { kind, text } = JSON.parse(line) as { kind: string; text: string };
  return { by: kind, text };
}
