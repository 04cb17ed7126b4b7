/**
 * I8, as far as the holder shows it: what was released or lost is never held again.
 *
 * What the store still holds of it is the check of ghosts' concern.
 */
import type { Check } from '../judge.js';
import { time } from '../text.js';

export const zombie: Check = (context) => ({
  see(event, _at, attempt) {
    if (event.e !== 'hold' || attempt === undefined || attempt.state === 'held') return;
    const since = attempt.releaseAt >= 0 ? `released at ${time(attempt.releaseT)}` : attempt.state;
    const what = `held at ${time(event.t)}, though it was ${since}`;
    context.report({ check: 'zombie', t: event.t, what, concerned: [attempt] });
  },
});
