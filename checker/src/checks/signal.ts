/**
 * No signal of a condition is lost: as many waits are woken as signals were delivered.
 *
 * A signal that says how many it woke has woken them: each of these waits ends as woken, or its
 * signal goes to the next that waits. So between two moments without a wait and without an
 * unanswered signal, the waits that were woken are no fewer than the signals delivered. A wait that
 * ended with an error, or whose process died, may stay in the store for `retention` and take one
 * signal, if no other wait is there. Waits may be woken without a signal, so too many are no
 * violation.
 *
 * Excused where the store has lost its memory meanwhile, or less than `retention` before (a store
 * that has lost its last writes knows waits that are over), or where leases were ended by force.
 */
import type { Attempt } from '../attempts.js';
import type { Check, Context, Excuse, Observer } from '../judge.js';

interface Condition {
  readonly k: string;
  readonly c: string;
  /** Attempts that wait, and attempts whose signal has no answer yet, with their processes. */
  readonly waiting: Map<Attempt, string>;
  readonly signalling: Map<Attempt, string>;
  /** Since when these are counted. */
  since: number;
  delivered: number;
  woken: number;
  forced: boolean;
}

export const signal: Check = (context) => new Signals(context);

class Signals implements Observer {
  readonly #context: Context;
  readonly #conditions = new Map<string, Condition>();
  /** When waits ended that may still take a signal, by condition. */
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
      if (event.signalled === null) this.#left(condition, event.t);
    } else {
      condition.signalling.delete(attempt);
      condition.delivered += event.count ?? 0;
    }
    this.#look(condition, event.t);
  }

  #died(process: string, t: number): void {
    for (const condition of this.#conditions.values()) {
      const { waiting, signalling } = condition;
      for (const [attempt, p] of waiting) {
        if (p !== process) continue;
        waiting.delete(attempt);
        this.#left(condition, t);
      }
      for (const [attempt, p] of signalling) if (p === process) signalling.delete(attempt);
      this.#look(condition, t);
    }
  }

  #forced(k: string): void {
    for (const condition of this.#conditions.values())
      if (condition.k === k) condition.forced = true;
  }

  #look(condition: Condition, t: number): void {
    const { k, c, waiting, signalling, delivered, woken } = condition;
    if (waiting.size > 0 || signalling.size > 0) return;
    this.#conditions.delete(`${k} ${c}`);
    if (delivered <= woken) return;
    const gone = this.#take(condition, delivered - woken);
    if (delivered <= woken + gone) return;
    const what =
      `${delivered} were signalled at ${c} of ${k} since ${condition.since}, ` +
      `${woken} were woken, and ${gone} ended otherwise`;
    this.#context.report({
      check: 'signal',
      t,
      what,
      concerned: [],
      excused: this.#why(condition),
    });
  }

  #left({ k, c }: Condition, t: number): void {
    const name = `${k} ${c}`;
    this.#gone.set(name, [...(this.#gone.get(name) ?? []), t]);
  }

  /** How many of these signals waits that ended otherwise may have taken: each takes one. */
  #take({ k, c, since }: Condition, most: number): number {
    const name = `${k} ${c}`;
    const oldest = since - this.#context.begin.retention;
    const gone = (this.#gone.get(name) ?? []).filter((t) => t >= oldest);
    this.#gone.set(name, gone.slice(most));
    return Math.min(most, gone.length);
  }

  #why({ k, since, forced }: Condition): Excuse | undefined {
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
