/**
 * I8 in the holder's process: a lease that was released or lost is never held again.
 *
 * The check `ghost` covers I8 in the store.
 */
import type { Check } from '../run-checks.js';
import { time } from '../text.js';

export const zombie: Check = (context) => ({
  see(event, _at, attempt) {
    if (event.e !== 'hold' || attempt === undefined || attempt.state === 'held') return;
    const since = attempt.releaseAt >= 0 ? `released at ${time(attempt.releaseT)}` : attempt.state;
    const what = `held at ${time(event.t)}, although it was ${since}`;
    context.report({ check: 'zombie', t: event.t, what, concerned: [attempt] });
  },
});
