/**
 * The fenced resource never accepts a write with a lower fence than one it has accepted.
 *
 * This is about the resource as much as about the lock: it is what fences are for, and what is left
 * where exclusion is not promised.
 */
import type { Attempt } from '../attempts.js';
import type { Check } from '../judge.js';

export const use: Check = (context) => {
  const accepted = new Map<string, { fence: number; by: Attempt | undefined }>();
  return {
    see(event, _at, attempt) {
      if (event.e !== 'use' || !event.accepted) return;
      const top = accepted.get(event.k);
      if (top === undefined || event.fence >= top.fence) {
        accepted.set(event.k, { fence: event.fence, by: attempt });
        return;
      }
      const concerned = [top.by, attempt].filter((each) => each !== undefined);
      const what = `a write to ${event.k} with fence ${event.fence} after one with ${top.fence}`;
      context.report({ check: 'use', t: event.t, what, concerned });
    },
  };
};
