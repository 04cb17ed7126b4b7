/** The functions that were executed on a way, in their order. */
import { RECORDER } from './instrument.js';

/** How far a way goes. */
export interface WayCount {
  /** Files with an executed function. */
  readonly files: number;
  /** Steps from a function of one file to a function of another one. */
  readonly moves: number;
  /** Moves to a file that the way had left already. */
  readonly back: number;
  readonly functions: number;
}

export class Trace {
  #functions: string[] | undefined;

  constructor() {
    Object.assign(globalThis, { [RECORDER]: (name: string) => this.#functions?.push(name) });
  }

  begin(): void {
    this.#functions = [];
  }

  /** True if a function of `file` was executed since `begin`. */
  reached(file: string): boolean {
    return this.#functions?.some((name) => name.startsWith(`${file}#`)) ?? false;
  }

  /** Ends the recording. */
  end(): string[] {
    const functions = this.#functions ?? [];
    this.#functions = undefined;
    return functions;
  }

  /** Records nothing more. */
  remove(): void {
    Object.assign(globalThis, { [RECORDER]: undefined });
  }
}

export function countOf(functions: readonly string[]): WayCount {
  const files = functions.map((name) => name.split('#', 1)[0]);
  const left = new Set<string | undefined>();
  let moves = 0;
  let back = 0;
  for (const [index, file] of files.entries()) {
    const last = files[index - 1];
    if (index === 0 || file === last) continue;
    moves += 1;
    left.add(last);
    if (left.has(file)) back += 1;
  }
  return { files: new Set(files).size, moves, back, functions: functions.length };
}
