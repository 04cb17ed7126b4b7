/**
 * Writes and reads histories.
 *
 * A `History` keeps its events in memory, writes them to a file, or both. Without `buffered`, the
 * line is passed to the system before `add` returns, so it survives a kill of the process.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { type Happening, type HistoryEvent, parseLine } from './format.js';

/** The options of a `History`. */
export interface HistoryOptions {
  /** The time in ms on the timeline of the run: the default `t` of `add`. */
  readonly now: () => number;
  /** Keep the events in memory. Default `true`, `false` with a `file`. */
  readonly keep?: boolean;
  /** Append to this file. */
  readonly file?: string;
  /** Number of lines that are collected before a write. Default 1. */
  readonly buffered?: number;
}

const CHUNK = 1 << 20;

export class History {
  /** All events in the order of `add`; empty if they are not kept. */
  readonly events: HistoryEvent[] = [];
  readonly #now: () => number;
  readonly #keep: boolean;
  readonly #buffered: number;
  #file: number | undefined;
  #lines: string[] = [];
  #count = 0;

  constructor(options: HistoryOptions) {
    this.#now = options.now;
    this.#keep = options.keep ?? options.file === undefined;
    this.#buffered = options.buffered ?? 1;
    if (options.file !== undefined) this.#file = openSync(options.file, 'a');
  }

  /** Number of events added. */
  get count(): number {
    return this.#count;
  }

  /** Adds an event of process `p`, now or at `t`. */
  add(p: string, happening: Happening, t: number = this.#now()): void {
    const event: HistoryEvent = { t, p, ...happening };
    this.#count += 1;
    if (this.#keep) this.events.push(event);
    if (this.#file === undefined) return;
    this.#lines.push(JSON.stringify(event));
    if (this.#lines.length >= this.#buffered) this.flush();
  }

  /** Writes buffered lines. */
  flush(): void {
    if (this.#file === undefined || this.#lines.length === 0) return;
    writeSync(this.#file, `${this.#lines.join('\n')}\n`);
    this.#lines = [];
  }

  /** Writes buffered lines and closes the file. */
  close(): void {
    this.flush();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

/**
 * Reads a file of events line by line, so the file may be larger than memory. An incomplete last
 * line, which a killed process may leave, is an error like any other invalid line.
 */
export function* readEvents(path: string): Generator<HistoryEvent> {
  const file = openSync(path, 'r');
  try {
    let number = 0;
    for (const line of linesOf(file)) {
      number += 1;
      if (line.trim() !== '') yield parseLine(line, `${path}:${number}`);
    }
  } finally {
    closeSync(file);
  }
}

function* linesOf(file: number): Generator<string> {
  const chunk = Buffer.alloc(CHUNK);
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for (;;) {
    const length = readSync(file, chunk, 0, CHUNK, null);
    if (length === 0) break;
    const lines = (rest + decoder.write(chunk.subarray(0, length))).split('\n');
    rest = lines.pop() as string;
    yield* lines;
  }
  if (rest !== '') yield rest;
}
