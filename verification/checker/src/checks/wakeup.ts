/**
 * I5: no wake-up is lost. Without faults, every ask ends in time, and no key is free for long while
 * an attempt waits for it.
 *
 *  - An ask with a limit ends within the limit and `slack`. The limit is not checked during a
 *    fault, and is extended to the end of the fault.
 *  - After `calm` every ask ends within `settle`, if the run has this setting.
 *  - No key is free while an attempt waits for longer than `ttl + 2 claimWindow + requestTimeout +
 *    slack`, and one more claim window for each dead waiter of the key: by then the lease of a dead
 *    holder has expired, and a waiter has polled. The time counts from the end of the last fault,
 *    and is longer by the steps of clocks.
 *  - At the end no ask and no release is open.
 */
import type { Attempt } from '../attempts.js';
import type { HistoryEvent } from '../format.js';
import type { Check, Context, Observer } from '../run-checks.js';
import { time } from '../text.js';

/** How much slower than the clock of the history the clock of a process may run. */
const DRIFT = 0.01;

export const wakeup: Check = (context) => new Wakeups(context);

class Wakeups implements Observer {
  readonly #context: Context;
  /** Since when a key has been free while an attempt waits for it. */
  readonly #idle = new Map<string, number>();
  /** Number of dead waiters of a key. */
  readonly #dead = new Map<string, number>();
  /** Keys of the attempts that ended with the present `crash` event. */
  #died: Set<string> = new Set();

  constructor(context: Context) {
    this.#context = context;
  }

  see(event: HistoryEvent, _at: number, attempt: Attempt | undefined): void {
    if (event.e === 'crash') {
      for (const key of this.#died) this.#updateIdle(key, event.t);
      this.#died = new Set();
    }
    if (attempt === undefined) return;
    if (event.e === 'grant' || event.e === 'fail') this.#endedInTime(attempt, event);
    this.#updateIdle(attempt.key, event.t);
  }

  settled({ state, grant, key }: Attempt): void {
    if (state !== 'crashed') return;
    this.#died.add(key);
    if (grant === undefined) this.#dead.set(key, (this.#dead.get(key) ?? 0) + 1);
  }

  finish(t: number): void {
    for (const attempt of this.#context.attempts.open()) {
      if (attempt.state === 'asked') this.#report(t, 'an ask is open at the end', attempt);
      if (attempt.state === 'releasing') this.#report(t, 'a release is open at the end', attempt);
    }
    for (const key of this.#idle.keys()) this.#reportIdle(key, t);
  }

  #endedInTime(attempt: Attempt, { e, t }: HistoryEvent): void {
    const { begin, faultT, calmT } = this.#context;
    const { wait } = attempt.ask;
    const limit = wait === undefined ? Number.POSITIVE_INFINITY : wait * (1 + DRIFT);
    if (t > Math.max(attempt.ask.t + limit, faultT) + begin.slack) {
      this.#report(t, `a ${e} came long after the limit of ${wait} ms`, attempt);
    }
    if (calmT === undefined || begin.settle === undefined) return;
    const due = Math.max(attempt.ask.t, calmT) + begin.settle;
    if (t > due) this.#report(t, `a ${e} came more than ${begin.settle} ms after calm`, attempt);
  }

  #updateIdle(key: string, t: number): void {
    const { asked, held } = this.#context.attempts.onKey(key);
    const isIdle = held.size === 0 && asked.size > 0 && [...asked].some(hasToWait);
    if (isIdle) {
      if (!this.#idle.has(key)) this.#idle.set(key, t);
    } else if (this.#idle.has(key)) {
      this.#reportIdle(key, t);
      this.#idle.delete(key);
    }
  }

  #reportIdle(key: string, t: number): void {
    const { begin, faultT, attempts, steps } = this.#context;
    const since = Math.max(this.#idle.get(key) ?? t, faultT);
    const { ttl, claimWindow, requestTimeout, slack } = begin;
    const dead = this.#dead.get(key) ?? 0;
    const limit = ttl + (2 + dead) * claimWindow + requestTimeout + slack + steps;
    if (t - since <= limit) return;
    const waiting = [...attempts.onKey(key).asked].filter(hasToWait).slice(0, 3);
    const what = `${key} was free from ${time(since)} to ${time(t)} while an attempt waited`;
    this.#context.report({ check: 'wakeup', t, what, concerned: waiting });
  }

  #report(t: number, what: string, attempt: Attempt): void {
    this.#context.report({ check: 'wakeup', t, what, concerned: [attempt] });
  }
}

function hasToWait({ ask }: Attempt): boolean {
  return ask.wait !== 0;
}
