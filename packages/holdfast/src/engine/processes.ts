/**
 * The time of the last command of each process that has waiters ([decision
 * 4](../../../../docs/decisions/0004-dead-and-frozen-waiters.md)).
 *
 *     unknown --first waiter--> heard --silence for its patience, or an unclaimed lease--> silent
 *                                 ^------------------- a command -----------------------/
 *     heard, silent --last waiter leaves--> unknown
 *     heard --a poll allows it a pause--> paused --a poll, or a command asks it--> heard
 *
 * Each command says how long the process may then be silent. A waiter of a silent process is
 * dropped in its turn; if the process is alive, the ticket restores the place. So all waiters of a
 * dead process delay the queue by no more than one, even without subscriber counts.
 */
import type { Micros } from './commands.js';

export interface Times {
  heard: Micros;
  /** From when it is silent; 0 if it named no patience. */
  until: Micros;
  /** The end of its pause; 0 if none, or it was asked since; or `ASKED`. */
  paused: Micros;
}

interface Process extends Times {
  waiters: number;
}

const UNHEARD: Readonly<Times> = { heard: 0, until: 0, paused: 0 };

/** A time in the past of every clock. */
const LONG_AGO = 1;
/** It is near the head: no pause follows its next poll. */
export const ASKED = 1;

export function processOf(id: string): string {
  const end = id.lastIndexOf('.');
  return end < 0 ? id : id.slice(0, end);
}

export class Processes {
  readonly #known = new Map<string, Process>();
  readonly #emptied = new Set<string>();
  /** A lease ended unclaimed in this command, and no waiter was asked yet. */
  lapsed = false;

  get all(): ReadonlyMap<string, Readonly<Process>> {
    return this.#known;
  }

  enter(id: string, { heard, until, paused }: Readonly<Times> = UNHEARD): void {
    const name = processOf(id);
    const known = this.#known.get(name);
    if (known === undefined) this.#known.set(name, { waiters: 1, heard, until, paused });
    else known.waiters += 1;
  }

  leave(id: string): void {
    const name = processOf(id);
    const known = this.#known.get(name);
    if (known === undefined) return;
    known.waiters -= 1;
    if (known.waiters === 0) this.#emptied.add(name);
  }

  restore(name: string, times: Readonly<Times>): void {
    const known = this.#known.get(name);
    if (known !== undefined) Object.assign(known, times);
  }

  /**
   * A patience of 0 promises no next command, so it is ignored. Another acquisition may end sooner:
   * a pause goes on, and no patience shortens an earlier one.
   */
  hear(id: string, now: Micros, patience: number): void {
    const known = this.#known.get(processOf(id));
    if (known === undefined || patience === 0) return;
    known.heard = now;
    known.until = Math.max(known.until, now + patience * 1000);
  }

  /** Ends a pause and may begin the next. All times are ms. */
  polled(id: string, now: Micros, patience: number, pause: number, period: number): void {
    const known = this.#known.get(processOf(id));
    if (known === undefined || patience === 0) return;
    const extra = pause === 0 ? 0 : pause - period;
    known.heard = now;
    known.until = now + (patience + extra) * 1000;
    known.paused = pause === 0 ? 0 : now + pause * 1000;
  }

  isPaused(id: string): boolean {
    const paused = this.#known.get(processOf(id))?.paused ?? 0;
    return paused > ASKED;
  }

  /** Ends a pause with a request to poll. */
  ask(id: string, answerBy: Micros, isNear: boolean): boolean {
    const known = this.#known.get(processOf(id));
    if (known === undefined || known.paused <= ASKED) return false;
    known.paused = isNear ? ASKED : 0;
    known.until = Math.min(known.until, answerBy);
    return true;
  }

  /**
   * A lease granted at `since` ended unclaimed. Its process is silent unless a command came since,
   * and also if the clock was set back: then the order is unknown.
   */
  lapse(id: string, since: Micros, now: Micros): void {
    const known = this.#known.get(processOf(id));
    if (known !== undefined && known.heard > since && known.heard <= now) return;
    if (known !== undefined) known.until = LONG_AGO;
    this.lapsed = true;
  }

  isSilent(id: string, now: Micros): boolean {
    const known = this.#known.get(processOf(id));
    return known !== undefined && known.until !== 0 && known.until <= now;
  }

  tidy(): void {
    this.lapsed = false;
    for (const name of this.#emptied) {
      if (this.#known.get(name)?.waiters === 0) this.#known.delete(name);
    }
    this.#emptied.clear();
  }
}
