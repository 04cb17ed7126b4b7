/**
 * A refusal has a reason: `tryAcquire` is refused only if another attempt may hold or wait.
 *
 * Reported if an acquisition with `wait: 0` was refused although it was the only open attempt of
 * its key from its ask to its reply, all attempts without a clean end had ended more than `grace`
 * before, and there was no fault for as long.
 */
import { type Attempt, endedLive } from '../attempts.js';
import type { Check, Context, Observer } from '../run-checks.js';

interface OnKey {
  /** The open attempt that must get the lock, as no other attempt can hold or wait. */
  alone: Attempt | undefined;
  /** Until when an ended attempt may still hold or wait. */
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
    const what = `refused, although no other attempt held or waited for ${attempt.key}`;
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
