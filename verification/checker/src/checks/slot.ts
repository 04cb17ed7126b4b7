/**
 * A slot has at most one run in `retention` ms.
 *
 * Excused if the store lost its memory between the ask of the first run and the second run.
 */
import type { Check } from '../run-checks.js';
import type { Attempt } from '../attempts.js';
import { Recent } from '../recent.js';

/** Number of slots that are remembered. */
const SLOTS = 1 << 14;

export const slot: Check = (context) => {
  const runs = new Recent<{ readonly by: Attempt; readonly t: number }>(SLOTS);
  return {
    see(event, _at, attempt) {
      if (event.e !== 'run' || attempt === undefined) return;
      const name = `${event.k} ${event.slot}`;
      const known = runs.get(name);
      if (known !== undefined && event.t < known.t + event.retention) {
        const { by } = known;
        const isForgotten = context.amnesiaT(event.k) >= by.ask.t;
        context.report({
          check: 'slot',
          t: event.t,
          what: `slot ${event.slot} of ${event.k} had a second run`,
          concerned: [by, attempt],
          excused: isForgotten ? 'amnesia' : undefined,
        });
      }
      runs.set(name, { by: attempt, t: event.t });
    },
  };
};
