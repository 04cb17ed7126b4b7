/**
 * The time of the last command of each process that has waiters.
 *
 *     unknown --first waiter--> heard --silence for its patience, or an unclaimed lease--> silent
 *                                 ^------------------- a command -----------------------/
 *     heard, silent --last waiter leaves--> unknown
 *     heard --a poll allows it a pause--> paused --a poll, or a command asks it--> heard
 *
 * A process polls its waiters once per poll period, or after the pause that the store allows it
 * (see `idle.ts`). Each of its commands says how long it may be silent afterwards. The store drops
 * a waiter of a silent process when its turn comes. If the process is alive after all, the waiter's
 * ticket restores its place. So all waiters of a dead process together delay the queue by no more
 * than one of them, even without subscriber counts.
 */
import type { Micros } from './commands.js';

interface Process {
  /** The number of its acquisitions that are queued or parked. */
  waiters: number;
  heard: Micros;
  /** The time from which it counts as silent; 0 if it has named no patience. */
  until: Micros;
  /** The end of the pause that its last poll was allowed; 0 if none, or if it was asked since. */
  paused: Micros;
}

/** A time in the past of every clock. */
const LONG_AGO = 1;

/** The process of an acquisition: its id up to the last dot. */
export function processOf(id: string): string {
  const end = id.lastIndexOf('.');
  return end < 0 ? id : id.slice(0, end);
}

export class Processes {
  readonly #known = new Map<string, Process>();
  readonly #emptied = new Set<string>();
  /** True if a lease ended unclaimed in this command, and no waiter was asked yet. */
  lapsed = false;

  get all(): ReadonlyMap<string, Readonly<Process>> {
    return this.#known;
  }

  /** Counts one more waiter of its process. */
  enter(id: string): void {
    const name = processOf(id);
    const known = this.#known.get(name) ?? { waiters: 0, heard: 0, until: 0, paused: 0 };
    known.waiters += 1;
    this.#known.set(name, known);
  }

  /** Counts one waiter fewer of its process. */
  leave(id: string): void {
    const name = processOf(id);
    const known = this.#known.get(name);
    if (known === undefined) return;
    known.waiters -= 1;
    if (known.waiters === 0) this.#emptied.add(name);
  }

  /** Sets what is known of a process with waiters. */
  restore(name: string, heard: Micros, until: Micros, paused: Micros): void {
    const known = this.#known.get(name);
    if (known !== undefined) Object.assign(known, { heard, until, paused });
  }

  /**
   * Notes a command of its process. A patience of 0 promises no next command, so it is ignored. A
   * pause goes on: the command may concern another acquisition than the poll that was allowed it.
   */
  hear(id: string, now: Micros, patience: number): void {
    const known = this.#known.get(processOf(id));
    if (known === undefined || patience === 0) return;
    known.heard = now;
    const until = now + patience * 1000;
    known.until = known.paused > now ? Math.max(known.until, until) : until;
  }

  /** Notes a poll, which ends a pause and may begin the next one. All times are ms. */
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
    return paused !== 0;
  }

  /** Ends a pause, because its process was asked. False if it had none. */
  ask(id: string, answerBy: Micros): boolean {
    const known = this.#known.get(processOf(id));
    if (known === undefined || known.paused === 0) return false;
    known.paused = 0;
    known.until = Math.min(known.until, answerBy);
    return true;
  }

  /**
   * A lease granted at `since` ended unclaimed. Its process is silent unless a command came since
   * then. If the clock was set back, the order is unknown, and the process counts as silent.
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

  /** Removes processes without waiters, at the end of a command. */
  tidy(): void {
    this.lapsed = false;
    for (const name of this.#emptied) {
      if (this.#known.get(name)?.waiters === 0) this.#known.delete(name);
    }
    this.#emptied.clear();
  }
}
