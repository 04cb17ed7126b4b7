/** The signals that `holdfast` receives: they end a wait, or go to the command. */
import { constants } from 'node:os';
import { Failure } from '../failure.js';

const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const;
const OTHERS = ['SIGUSR1', 'SIGUSR2', 'SIGWINCH', 'SIGCONT'] as const;

/** They end a view that runs until it is stopped. */
export const STOPPING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export class Signals {
  readonly #aborting = new AbortController();
  #first: NodeJS.Signals | undefined;
  #target: ((name: NodeJS.Signals) => void) | undefined;

  constructor() {
    for (const name of ENDING) process.on(name, () => this.#receive(name, true));
    for (const name of OTHERS) process.on(name, () => this.#receive(name, false));
    // a stopped `holdfast` would renew nothing, so Ctrl-Z has no effect
    process.on('SIGTSTP', () => undefined);
  }

  /** Aborts at the first signal that ends programs. */
  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  /** The first signal that ends programs. */
  get first(): NodeJS.Signals | undefined {
    return this.#first;
  }

  /** Resolves at the first signal that ends programs. */
  get ended(): Promise<void> {
    const { signal } = this;
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** Sends all signals to a command, or to none. */
  forwardTo(target: ((name: NodeJS.Signals) => void) | undefined): void {
    this.#target = target;
  }

  #receive(name: NodeJS.Signals, ends: boolean): void {
    this.#target?.(name);
    // the command may go on after it
    if (!ends || (name === 'SIGHUP' && this.#target !== undefined)) return;
    this.#first ??= name;
    this.#aborting.abort();
  }
}

/** The exit code of a shell for a command that a signal ended. */
export function signalCode(name: NodeJS.Signals): number {
  return 128 + constants.signals[name];
}

/** A failure for what a signal ended. */
export function interrupted(
  { first }: Signals,
  what = 'the wait for the lock',
): Failure | undefined {
  return first && new Failure(signalCode(first), `${first} ended ${what}`);
}
