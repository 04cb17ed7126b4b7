/**
 * When the processes whose acquisitions wait were last heard of.
 *
 *     unknown --its first waiter--> heard --silence for its patience, or a lapsed claim--> silent
 *                                     ^------------------------ it asks ---------------------/
 *     heard, silent --its last waiter leaves--> unknown
 *
 * A process asks about its waiters once in a poll period, and says with each command for how long
 * its silence is to be borne. A waiter of a silent process is passed over when its turn comes: it
 * loses its place, and gets the place back with its ticket if its process lives after all. So many
 * waiters of one dead process cost no more than one of them, also where no subscriber count tells
 * that the process is dead.
 */
import type { Micros } from './commands.js';

interface Process {
  /** Its acquisitions that are queued or parked. */
  waiters: number;
  heard: Micros;
  /** It is silent from then on; 0 if it has not said for how long it may be. */
  until: Micros;
}

/** A moment that is over for every clock. */
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

  /** One more of its acquisitions waits. */
  enter(id: string): void {
    const name = processOf(id);
    const known = this.#known.get(name) ?? { waiters: 0, heard: 0, until: 0 };
    known.waiters += 1;
    this.#known.set(name, known);
  }

  /** One of its acquisitions has ceased to wait. */
  leave(id: string): void {
    const name = processOf(id);
    const known = this.#known.get(name);
    if (known === undefined) return;
    known.waiters -= 1;
    if (known.waiters === 0) this.#emptied.add(name);
  }

  /** Its process has asked. With a patience of 0 that says nothing about when it asks again. */
  hear(id: string, now: Micros, patience: number): void {
    const known = this.#known.get(processOf(id));
    if (known === undefined || patience === 0) return;
    known.heard = now;
    known.until = now + patience * 1000;
  }

  /**
   * A lease that was granted to it at `since` has ended without having been claimed. It is silent
   * unless it was heard of meanwhile; a clock that was set back makes that impossible to tell.
   */
  lapse(id: string, since: Micros, now: Micros): void {
    const known = this.#known.get(processOf(id));
    if (known !== undefined && (known.heard <= since || known.heard > now)) known.until = LONG_AGO;
  }

  isSilent(id: string, now: Micros): boolean {
    const known = this.#known.get(processOf(id));
    return known !== undefined && known.until !== 0 && known.until <= now;
  }

  /** Forgets the processes that wait for nothing: at the end of a command. */
  tidy(): void {
    for (const name of this.#emptied) {
      if (this.#known.get(name)?.waiters === 0) this.#known.delete(name);
    }
    this.#emptied.clear();
  }
}
