/**
 * A latch opens when it has been counted down by its size, and not before.
 *
 *  - No wait passes before enough counts were called.
 *  - The remaining count in each reply is at least the size minus all counts called until then, and
 *    at most the size minus this count and all counts that had a reply before its call.
 *  - A wait does not time out if the latch was open when the wait began.
 *  - No wait at a latch is open at the end, unless its process has died.
 *
 * If a store loses counts, more of them remain and waits last longer: this is excused, and counts
 * from before do not open the latch. A wait that
 * timed out is not checked if there was a fault since it began. A latch is used once in a history:
 * its size is the same in all events of its key.
 */
import type { Await, Count, Counted, Stamp, Stopped } from '../format.js';
import type { Check, Context, Observer } from '../run-checks.js';

interface Latch {
  /** The time of its first event. */
  readonly t: number;
  /** The sum of the counts called. */
  called: number;
  /** The sum of the counts that had a reply, and were called after `amnesiaT`. */
  answered: number;
  /** When the store last lost its memory of the latch. */
  amnesiaT: number;
}

interface OpenCount extends Count, Stamp {
  /** `answered` of the latch at the call. */
  readonly before: number;
}

interface OpenWait extends Await, Stamp {
  readonly wasOpen: boolean;
}

export const latch: Check = (context) => new Latches(context);

class Latches implements Observer {
  readonly #context: Context;
  readonly #latches = new Map<string, Latch>();
  readonly #counts = new Map<string, OpenCount>();
  readonly #waits = new Map<string, OpenWait>();

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event]: Parameters<NonNullable<Observer['see']>>): void {
    if (event.e === 'count') this.#count(event);
    else if (event.e === 'counted') this.#counted(event);
    else if (event.e === 'await' && event.gate === 'latch') this.#await(event);
    else if (event.e === 'passed') this.#passed(event.g, event.t);
    else if (event.e === 'stopped') this.#stopped(event);
    else if (event.e === 'crash') this.#died(event.p);
  }

  finish(t: number): void {
    for (const { k, g } of this.#waits.values())
      this.#report(t, `${g} still waits at ${k} at the end`);
  }

  #count(event: Count & Stamp): void {
    const latch = this.#latch(event.k, event.t);
    latch.called += event.by;
    this.#counts.set(event.g, { ...event, before: latch.answered });
  }

  #counted({ k, g, left, t }: Counted & Stamp): void {
    const count = this.#counts.get(g);
    if (count === undefined) return;
    this.#counts.delete(g);
    const latch = this.#latch(k, t);
    const { size, by, before } = count;
    if (count.t > latch.amnesiaT) latch.answered += by;
    const least = Math.max(0, size - latch.called);
    const most = Math.max(0, size - before - by);
    const text = `${g} got the reply that ${left} of ${size} counts of ${k} remain`;
    if (left < least) this.#report(t, `${text}, although only ${latch.called} were called`);
    if (left > most) {
      const isForgotten = this.#context.amnesiaT(k) >= latch.t;
      this.#report(t, `${text}, although ${before + by} were counted`, isForgotten);
    }
  }

  #await(event: Await & Stamp): void {
    const wasOpen = this.#latch(event.k, event.t).answered >= event.size;
    this.#waits.set(event.g, { ...event, wasOpen });
  }

  #passed(g: string, t: number): void {
    const wait = this.#waits.get(g);
    if (wait === undefined) return;
    this.#waits.delete(g);
    const { k, size } = wait;
    const { called } = this.#latch(k, t);
    if (called < size) this.#report(t, `${g} passed ${k} after ${called} of ${size} counts`);
  }

  #stopped({ g, code, t }: Stopped & Stamp): void {
    this.#counts.delete(g);
    const wait = this.#waits.get(g);
    this.#waits.delete(g);
    if (wait === undefined || !wait.wasOpen || code !== 'HOLDFAST_TIMEOUT') return;
    if (this.#context.faultT >= wait.t || this.#context.amnesiaT(wait.k) >= wait.t) return;
    this.#report(t, `${g} timed out at ${wait.k}, which was open`);
  }

  #died(process: string): void {
    for (const open of [this.#counts, this.#waits]) {
      for (const [g, { p }] of open) if (p === process) open.delete(g);
    }
  }

  #latch(k: string, t: number): Latch {
    const amnesiaT = this.#context.amnesiaT(k);
    const known = this.#latches.get(k) ?? { t, called: 0, answered: 0, amnesiaT };
    if (amnesiaT > known.amnesiaT) Object.assign(known, { amnesiaT, answered: 0 });
    this.#latches.set(k, known);
    return known;
  }

  #report(t: number, what: string, isForgotten = false): void {
    const excused = isForgotten ? 'amnesia' : undefined;
    this.#context.report({ check: 'latch', t, what, concerned: [], excused });
  }
}
