/**
 * A latch opens when it has been counted down by its size, and not before.
 *
 *  - No wait passes before enough counts were called for.
 *  - Each answer says how many are left: not fewer than the counts called for until then leave, and
 *    not more than the counts answered before the call, and the call itself, leave.
 *  - A wait does not run into its limit where the latch was open when it began.
 *  - No wait at a latch is open at the end, unless its process has died.
 *
 * Counts that a store has forgotten make more of them be left, and waits longer: excused then. A
 * wait that ran into its limit is not judged where anything was broken since it began. A latch is
 * used once in a history: its size is the same in all events of its key.
 */
import type { Await, Count, Counted, Stamp, Stopped } from '../format.js';
import type { Check, Context, Observer } from '../judge.js';

interface Latch {
  /** Since when it is known. */
  readonly t: number;
  /** How much was called for, and how much of it was answered. */
  called: number;
  answered: number;
}

interface OpenCount extends Count, Stamp {
  /** What had been answered when it was called. */
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
    for (const { k, g } of this.#waits.values()) this.#report(t, `${g} waits at ${k} at the end`);
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
    latch.answered += by;
    const least = Math.max(0, size - latch.called);
    const most = Math.max(0, size - before - by);
    const text = `${g} was told that ${left} of ${size} are left of ${k}`;
    if (left < least) this.#report(t, `${text}, though only ${latch.called} were called for`);
    if (left > most) {
      const isForgotten = this.#context.amnesiaT(k) >= latch.t;
      this.#report(t, `${text}, after ${before + by} were counted`, isForgotten);
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
    this.#report(t, `${g} did not pass ${wait.k}, which was open`);
  }

  #died(process: string): void {
    for (const open of [this.#counts, this.#waits]) {
      for (const [g, { p }] of open) if (p === process) open.delete(g);
    }
  }

  #latch(k: string, t: number): Latch {
    const known = this.#latches.get(k) ?? { t, called: 0, answered: 0 };
    this.#latches.set(k, known);
    return known;
  }

  #report(t: number, what: string, isForgotten = false): void {
    const excused = isForgotten ? 'amnesia' : undefined;
    this.#context.report({ check: 'latch', t, what, concerned: [], excused });
  }
}
