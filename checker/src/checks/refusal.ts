/**
 * A refusal has a reason: who did not want to wait is not refused what nobody can have.
 *
 * Reported where a `tryAcquire` without a limit was refused although, from its ask to its answer,
 * it was the only open attempt of its key, and whatever had ended unanswered before had ended more
 * than `grace` ago, and nothing had been broken for as long.
 */
import { type Attempt, endedLive } from '../attempts.js';
import type { Check, Context, Observer } from '../judge.js';

interface OnKey {
  /** The open attempt that nobody else can keep from its lease. */
  alone: Attempt | undefined;
  /** Until when something that has ended may still hold or wait. */
  busyUntil: number;
}

export const refusal: Check = (context) => new Refusals(context);

class Refusals implements Observer {
  readonly #context: Context;
  readonly #keys = new Map<string, OnKey>();

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event, , attempt]: Parameters<NonNullable<Observer['see']>>): void {
    if (attempt === undefined) return;
    if (event.e === 'ask') this.#ask(attempt);
    if (event.e !== 'fail' || event.code !== null) return;
    if (this.#keys.get(attempt.key)?.alone !== attempt) return;
    const what = `refused, though nobody else held or waited for ${attempt.key}`;
    this.#context.report({ check: 'refusal', t: event.t, what, concerned: [attempt] });
  }

  settled(attempt: Attempt): void {
    const key = this.#key(attempt.key);
    const { state, outcome, ask, endT } = attempt;
    const isRefused = state === 'failed' && outcome === null && ask.wait === 0;
    if (isRefused || (state === 'released' && endedLive(outcome))) return;
    key.busyUntil = Math.max(key.busyUntil, endT + this.#context.begin.grace);
  }

  #ask(attempt: Attempt): void {
    const key = this.#key(attempt.key);
    const { attempts, begin, faultT } = this.#context;
    const { asked, held } = attempts.onKey(attempt.key);
    const isQuiet = Math.max(key.busyUntil, faultT + begin.grace) < attempt.ask.t;
    const isAlone = asked.size === 1 && held.size === 0 && isQuiet && attempt.ask.wait === 0;
    key.alone = isAlone ? attempt : undefined;
  }

  #key(name: string): OnKey {
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = { alone: undefined, busyUntil: Number.NEGATIVE_INFINITY };
      this.#keys.set(name, key);
    }
    return key;
  }
}
