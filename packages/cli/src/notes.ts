/**
 * Messages on standard error, as text or as JSON lines. Standard output belongs to the command that
 * runs, or to the result.
 *
 * They are written synchronously to the descriptor, so none is lost when this process exits. The
 * first use of `process.stderr` would make a pipe that the command shares non-blocking.
 */
import { writeSync } from 'node:fs';
import type { Failure } from './failure.js';
import { printable, json as toJson } from './view/words.js';

const STDERR = 2;

/** Facts of an event, for JSON. */
export type Facts = Readonly<Record<string, unknown>>;

export class Notes {
  readonly #json: boolean;
  readonly #verbose: boolean;

  constructor(options: { readonly json?: boolean; readonly verbose?: boolean } = {}) {
    this.#json = options.json === true;
    this.#verbose = options.verbose === true;
  }

  /** An event that is shown with `--verbose` or `--json` only. */
  event(event: string, text: string, facts: Facts = {}): void {
    if (this.#json) write(toJson({ event, ...facts }));
    else if (this.#verbose) write(`holdfast: ${printable(text)}`);
  }

  /** An event that is always shown. */
  warning(event: string, text: string, facts: Facts = {}): void {
    if (this.#json) write(toJson({ event, message: text, ...facts }));
    else write(`holdfast: ${printable(text)}`);
  }

  failure({ message, advice, exitCode }: Failure): void {
    if (this.#json) {
      write(toJson({ event: 'error', message, advice: advice || undefined, exitCode }));
      return;
    }
    write(`holdfast: ${message.split('\n').map(printable).join('\n')}`);
    if (advice !== '') write(`  to do: ${printable(advice)}`);
  }
}

function write(line: string): void {
  try {
    writeSync(STDERR, `${line}\n`);
  } catch {
    // closed, or a full non-blocking pipe: a message must not end the command
  }
}
