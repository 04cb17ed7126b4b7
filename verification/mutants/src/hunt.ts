/** Runs the simulator against one mutant. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
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

/** Processes that wait for work. They have run mutants before. */
const idle: Worker[] = [];

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

/** Ends the processes that wait for work. */
export async function endWorkers(): Promise<void> {
  await Promise.all(idle.splice(0).map((worker) => worker.end()));
}

async function look(folder: string, seeds: Seeds, world: string): Promise<Catch> {
  const used = idle.pop();
  const worker = used ?? new Worker();
  const found = await worker.look(folder, seeds, world);
  if (worker.lives) idle.push(worker);
  // the cause may be the mutant before this one
  if (found.by === 'crashes' && used !== undefined) return look(folder, seeds, world);
  return found;
}

/** A process that runs one copy of the library after the other, until it crashes or hangs. */
class Worker {
  readonly #child: ChildProcessWithoutNullStreams;
  #line: (line: string) => void = () => undefined;
  #closed: () => void = () => undefined;
  #errors = '';
  #lives = true;

  constructor() {
    this.#child = spawn(process.execPath, ['--preserve-symlinks', WORKER]);
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#line(line));
    this.#child.stderr.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()));
    // without it, a write to a process that has crashed would be an error of its own
    this.#child.stdin.on('error', () => undefined);
    this.#child.on('close', () => {
      this.#lives = false;
      this.#closed();
    });
  }

  /** It can do more work. */
  get lives(): boolean {
    return this.#lives;
  }

  end(): Promise<void> {
    return new Promise((resolve) => {
      this.#closed = resolve;
      if (!this.#lives) resolve();
      this.#child.stdin.end();
    });
  }

  look(folder: string, { from, seeds, limit }: Seeds, world: string): Promise<Catch> {
    return new Promise((resolve) => {
      let [count, seed, hangs] = [0, from, false];
      const end = (result: Pick<Catch, 'by' | 'text' | 'broken'>): void => {
        clearTimeout(timer);
        resolve({ seeds: count, seed, ...result });
      };
      const stop = (): void => {
        hangs = true;
        this.#child.kill('SIGKILL');
      };
      let timer = setTimeout(stop, limit);
      this.#line = (line) => {
        clearTimeout(timer);
        timer = setTimeout(stop, limit);
        if (line.startsWith(RESULT)) return end(caught(line.slice(RESULT.length)));
        if (!/^\d+$/.test(line)) return;
        count += 1;
        seed = Number(line);
      };
      this.#closed = () => {
        const text = hangs ? `no end after ${limit} ms` : this.#errors.slice(-500);
        end({ by: hangs ? 'hangs' : 'crashes', text, broken: undefined });
      };
      if (!this.#lives) this.#closed();
      this.#child.stdin.write(`${JSON.stringify({ folder, from, seeds, world })}\n`);
    });
  }
}

function caught(line: string): Pick<Catch, 'by' | 'text' | 'broken'> {
  const result = JSON.parse(line) as { kind?: string; text?: string; broken?: string };
  return { by: result.kind, text: result.text ?? '', broken: result.broken };
}
