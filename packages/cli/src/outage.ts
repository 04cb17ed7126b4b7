/** Goes on with a wait while the store is away. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './child/protocol.js';
import { EXIT, failureOf, isRefusal } from './failure.js';
import type { Notes } from './notes.js';

const PAUSE_MS = 500;

export interface Patience {
  readonly key: string;
  readonly notes: Notes;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** The end of the wait, on the clock of `now`. */
  readonly until: number;
  /** True if the store has answered before the first attempt. */
  readonly known?: boolean;
}

/**
 * Repeats an attempt that fails because the store does not answer, until the end of the wait. The
 * store has to have answered once: without any answer the first failure counts, so that a wrong
 * address is told at once.
 * @param attempt calls `answered` when the store has answered
 */
export async function despiteOutages<Result>(
  attempt: (answered: () => void) => Promise<Result>,
  { key, notes, signal, until, known: before = false }: Patience,
): Promise<Result> {
  let [known, told] = [before, false];
  const answered = (): void => {
    known = true;
    told = false;
  };
  for (;;) {
    try {
      return await attempt(answered);
    } catch (error) {
      const { exitCode, message } = failureOf(error);
      const isOver = signal?.aborted === true || now() >= until;
      if (exitCode !== EXIT.unavailable || isRefusal(error) || !known || isOver) throw error;
      if (!told) notes.warning('outage', `${message}; still waiting for ${key}`, { key });
      told = true;
      await sleep(Math.min(PAUSE_MS, until - now()), undefined, {
        ...(signal && { signal }),
      }).catch(
        // the next attempt reports the signal
        () => undefined,
      );
    }
  }
}

/** The library creates messages of acquisitions only if the first channel has a listener. */
const CHANNELS = ['tracing:holdfast:acquire:start', 'holdfast:wait'] as const;

/** Calls `answered` when an acquisition of this process waits in the queue of the store. */
export async function whileQueued<Result>(
  answered: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const listener = (_: unknown, name: string | symbol): void => {
    if (name === 'holdfast:wait') answered();
  };
  for (const name of CHANNELS) subscribe(name, listener);
  try {
    return await work();
  } finally {
    for (const name of CHANNELS) unsubscribe(name, listener);
  }
}
