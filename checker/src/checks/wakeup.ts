/**
 * I5: no wake-up is lost. Where nothing is broken, every ask ends, in time, and no key stands free
 * while somebody waits for it.
 *
 *  - An ask with a limit ends within it, and `slack`; not judged while a fault lasts, and counted
 *    from its end at the earliest.
 *  - After `calm` every ask ends within `settle`, if the run says how long its work takes.
 *  - Nobody waits for a key that nobody holds for longer than `ttl + 2 claimWindow + requestTimeout
 *    + slack`, and a claim window more for each waiter of the key that has died: what a dead holder
 *    left has ended then, and somebody has looked. Counted from the end of the last fault, and
 *    longer by what clocks were set by.
 *  - At the end nothing is open: neither an ask nor a release.
 */
import type { Attempt } from '../attempts.js';
import type { HistoryEvent } from '../format.js';
import type { Check, Context, Observer } from '../judge.js';
import { time } from '../text.js';

/** How much slower than the history's clock that of a process may go. */
const DRIFT = 0.01;

export const wakeup: Check = (context) => new Wakeups(context);

class Wakeups implements Observer {
  readonly #context: Context;
  /** Since when somebody has waited for a key that nobody holds. */
  readonly #idle = new Map<string, number>();
  /** Waiters of a key that died. */
  readonly #dead = new Map<string, number>();
  /** Keys of waiters that died with the process of the present event. */
  #died: Set<string> = new Set();

  constructor(context: Context) {
    this.#context = context;
  }

  see(event: HistoryEvent, _at: number, attempt: Attempt | undefined): void {
    if (event.e === 'crash') {
      for (const key of this.#died) this.#lookAfter(key, event.t);
      this.#died = new Set();
    }
    if (attempt === undefined) return;
    if (event.e === 'grant' || event.e === 'fail') this.#endedInTime(attempt, event);
    this.#lookAfter(attempt.key, event.t);
  }

  settled({ state, grant, key }: Attempt): void {
    if (state !== 'crashed') return;
    this.#died.add(key);
    if (grant === undefined) this.#dead.set(key, (this.#dead.get(key) ?? 0) + 1);
  }

  finish(t: number): void {
    for (const attempt of this.#context.attempts.open()) {
      if (attempt.state === 'asked') this.#report(t, 'an ask that never ended', attempt);
      if (attempt.state === 'releasing') this.#report(t, 'a release that never ended', attempt);
    }
    for (const key of this.#idle.keys()) this.#stood(key, t);
  }

  #endedInTime(attempt: Attempt, { e, t }: HistoryEvent): void {
    const { begin, faultT, calmT } = this.#context;
    const { wait } = attempt.ask;
    const limit = wait === undefined ? Number.POSITIVE_INFINITY : wait * (1 + DRIFT);
    if (t > Math.max(attempt.ask.t + limit, faultT) + begin.slack) {
      this.#report(t, `a ${e} long after the limit of ${wait} ms`, attempt);
    }
    if (calmT === undefined || begin.settle === undefined) return;
    const due = Math.max(attempt.ask.t, calmT) + begin.settle;
    if (t > due) this.#report(t, `a ${e} more than ${begin.settle} ms after calm`, attempt);
  }

  #lookAfter(key: string, t: number): void {
    const { asked, held } = this.#context.attempts.onKey(key);
    const isIdle = held.size === 0 && asked.size > 0 && [...asked].some(waits);
    if (isIdle) {
      if (!this.#idle.has(key)) this.#idle.set(key, t);
    } else if (this.#idle.has(key)) {
      this.#stood(key, t);
      this.#idle.delete(key);
    }
  }

  #stood(key: string, t: number): void {
    const { begin, faultT, attempts, steps } = this.#context;
    const since = Math.max(this.#idle.get(key) ?? t, faultT);
    const { ttl, claimWindow, requestTimeout, slack } = begin;
    const dead = this.#dead.get(key) ?? 0;
    const limit = ttl + (2 + dead) * claimWindow + requestTimeout + slack + steps;
    if (t - since <= limit) return;
    const waiting = [...attempts.onKey(key).asked].filter(waits).slice(0, 3);
    const what = `${key} stood free from ${time(since)} to ${time(t)}, and somebody waited`;
    this.#context.report({ check: 'wakeup', t, what, concerned: waiting });
  }

  #report(t: number, what: string, attempt: Attempt): void {
    this.#context.report({ check: 'wakeup', t, what, concerned: [attempt] });
  }
}

function waits({ ask }: Attempt): boolean {
  return ask.wait !== 0;
}
