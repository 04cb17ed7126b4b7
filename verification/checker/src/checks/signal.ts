/**
 * No signal of a condition is lost: at least as many waits are woken as signals were delivered.
 *
 * A signal returns how many waits it woke. Each of these waits ends as woken, or its signal goes to
 * the next wait. So between two moments without a wait and without an unanswered signal, at least
 * as many waits were woken as signals were delivered. A wait that ended with an error or with the
 * death of its process may stay in the store for `retention` and consume one signal, if no other
 * wait is there. Waits may be woken without a signal, so more woken waits than signals are no
 * violation.
 *
 * Excused if the store lost its memory meanwhile or less than `retention` before (after a loss of
 * its last writes a store may know waits that have ended), or if leases were ended by force.
 */
import type { Attempt } from '../attempts.js';
import type { Check, Context, Excuse, Observer } from '../run-checks.js';

interface Condition {
  readonly k: string;
  readonly c: string;
  /** Waiting attempts, and attempts with an unanswered signal, with their processes. */
  readonly waiting: Map<Attempt, string>;
  readonly signalling: Map<Attempt, string>;
  /** The time at which the counts below begin. */
  since: number;
  delivered: number;
  woken: number;
  forced: boolean;
}

export const signal: Check = (context) => new Signals(context);

class Signals implements Observer {
  readonly #context: Context;
  readonly #conditions = new Map<string, Condition>();
  /** By condition: the end times of waits that may still consume a signal. */
  readonly #gone = new Map<string, number[]>();

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event, , attempt]: Parameters<NonNullable<Observer['see']>>): void {
    if (event.e === 'crash') this.#died(event.p, event.t);
    if (event.e === 'force') this.#forced(event.k);
    if (attempt === undefined || !('c' in event)) return;
    const condition = this.#condition(event.k, event.c, event.t);
    if (event.e === 'park') condition.waiting.set(attempt, event.p);
    else if (event.e === 'signal') condition.signalling.set(attempt, event.p);
    else if (event.e === 'woken') {
      condition.waiting.delete(attempt);
      if (event.signalled === true) condition.woken += 1;
      if (event.signalled === null) this.#noteGone(condition, event.t);
    } else {
      condition.signalling.delete(attempt);
      condition.delivered += event.count ?? 0;
    }
    this.#conclude(condition, event.t);
  }

  #died(process: string, t: number): void {
    for (const condition of this.#conditions.values()) {
      const { waiting, signalling } = condition;
      for (const [attempt, p] of waiting) {
        if (p !== process) continue;
        waiting.delete(attempt);
        this.#noteGone(condition, t);
      }
      for (const [attempt, p] of signalling) if (p === process) signalling.delete(attempt);
      this.#conclude(condition, t);
    }
  }

  #forced(k: string): void {
    for (const condition of this.#conditions.values())
      if (condition.k === k) condition.forced = true;
  }

  #conclude(condition: Condition, t: number): void {
    const { k, c, waiting, signalling, delivered, woken } = condition;
    if (waiting.size > 0 || signalling.size > 0) return;
    this.#conditions.delete(`${k} ${c}`);
    if (delivered <= woken) return;
    const gone = this.#take(condition, delivered - woken);
    if (delivered <= woken + gone) return;
    const what =
      `${delivered} signals were delivered at ${c} of ${k} since ${condition.since}, ` +
      `${woken} waits were woken, and ${gone} ended otherwise`;
    this.#context.report({
      check: 'signal',
      t,
      what,
      concerned: [],
      excused: this.#excuseFor(condition),
    });
  }

  #noteGone({ k, c }: Condition, t: number): void {
    const name = `${k} ${c}`;
    this.#gone.set(name, [...(this.#gone.get(name) ?? []), t]);
  }

  /** How many signals were possibly consumed by waits that ended otherwise, at most `most`. */
  #take({ k, c, since }: Condition, most: number): number {
    const name = `${k} ${c}`;
    const oldest = since - this.#context.begin.retention;
    const gone = (this.#gone.get(name) ?? []).filter((t) => t >= oldest);
    this.#gone.set(name, gone.slice(most));
    return Math.min(most, gone.length);
  }

  #excuseFor({ k, since, forced }: Condition): Excuse | undefined {
    if (this.#context.amnesiaT(k) >= since - this.#context.begin.retention) return 'amnesia';
    return forced ? 'force' : undefined;
  }

  #condition(k: string, c: string, t: number): Condition {
    const name = `${k} ${c}`;
    const known = this.#conditions.get(name) ?? {
      ...{ k, c, since: t, delivered: 0, woken: 0, forced: false },
      waiting: new Map<Attempt, string>(),
      signalling: new Map<Attempt, string>(),
    };
    this.#conditions.set(name, known);
    return known;
  }
}
