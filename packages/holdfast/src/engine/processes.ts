/**
 * The time of the last command of each process that has waiters.
 *
 *     unknown --first waiter--> heard --silence for its patience, or an unclaimed lease--> silent
 *                                 ^------------------- a command -----------------------/
 *     heard, silent --last waiter leaves--> unknown
 *
 * A process polls its waiters once per poll period. Each of its commands says how long it may be
 * silent afterwards. The store drops a waiter of a silent process when its turn comes. If the
 * process is alive after all, the waiter's ticket restores its place. So all waiters of a dead
 * process together delay the queue by no more than one of them, even without subscriber counts.
 */
import type { Micros } from './commands.js';

interface Process {
  /** The number of its acquisitions that are queued or parked. */
  waiters: number;
  heard: Micros;
  /** The time from which it counts as silent; 0 if it has named no patience. */
  until: Micros;
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

  get all(): ReadonlyMap<string, Readonly<Process>> {
    return this.#known;
  }

  /** Counts one more waiter of its process. */
  enter(id: string): void {
    const name = processOf(id);
    const known = this.#known.get(name) ?? { waiters: 0, heard: 0, until: 0 };
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
  restore(name: string, heard: Micros, until: Micros): void {
    const known = this.#known.get(name);
    if (known !== undefined) Object.assign(known, { heard, until });
  }

  /** Notes a command of its process. A patience of 0 promises no next command, so it is ignored. */
  hear(id: string, now: Micros, patience: number): void {
    const known = this.#known.get(processOf(id));
    if (known === undefined || patience === 0) return;
    known.heard = now;
    known.until = now + patience * 1000;
  }

  /**
   * A lease granted at `since` ended unclaimed. Its process is silent unless a command came since
   * then. If the clock was set back, the order is unknown, and the process counts as silent.
   */
  lapse(id: string, since: Micros, now: Micros): void {
    const known = this.#known.get(processOf(id));
    if (known !== undefined && (known.heard <= since || known.heard > now)) known.until = LONG_AGO;
  }

  isSilent(id: string, now: Micros): boolean {
    const known = this.#known.get(processOf(id));
    return known !== undefined && known.until !== 0 && known.until <= now;
  }

  /** Removes processes without waiters, at the end of a command. */
  tidy(): void {
    for (const name of this.#emptied) {
      if (this.#known.get(name)?.waiters === 0) this.#known.delete(name);
    }
    this.#emptied.clear();
  }
}
