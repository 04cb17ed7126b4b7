/**
 * Linearizability by search, after Wing and Gong (1993): tries every order in which grants and ends
 * can have taken effect, and tells whether one of them is allowed. Its time is exponential: it is
 * for histories of a few grants, on which the checks for large histories are tested.
 *
 * Each granted attempt is two operations. Its grant takes effect between ask and reply. Its end
 * takes effect between the last belief and the reply of the release; or, if it was lost or its
 * process died, at any time after the last belief, or never. An operation may be next if no other
 * remaining operation ended before it began. A grant is allowed if its weight fits and its fence is
 * greater than the last.
 */
import { type Attempt, endedLive } from './attempts.js';

interface Operation {
  readonly attempt: Attempt;
  readonly from: number;
  readonly to: number;
  readonly isEnd: boolean;
}

/** True if there is an order of the grants of one key that a lock allows. */
export function isLinearizable(
  attempts: readonly Attempt[],
  releasedAt: (attempt: Attempt) => number,
): boolean {
  const remaining: Operation[] = [];
  for (const attempt of attempts) {
    if (attempt.grant === undefined || attempt.believedAt < 0) continue;
    const { askAt, grantAt, believedAt, state, outcome } = attempt;
    remaining.push({ attempt, from: askAt, to: grantAt, isEnd: false });
    const isClean = state === 'released' && endedLive(outcome);
    const to = isClean ? releasedAt(attempt) : Number.POSITIVE_INFINITY;
    remaining.push({ attempt, from: believedAt, to, isEnd: true });
  }
  return search(remaining, 0, 0, new Set());
}

function search(
  remaining: readonly Operation[],
  used: number,
  fence: number,
  granted: ReadonlySet<Attempt>,
): boolean {
  if (remaining.every(({ isEnd, to }) => isEnd && to === Number.POSITIVE_INFINITY)) return true;
  const first = Math.min(...remaining.map(({ to }) => to));
  for (const operation of remaining) {
    const { attempt, from, isEnd } = operation;
    if (from > first) continue;
    const { weight, capacity } = attempt.ask;
    const rest = remaining.filter((other) => other !== operation);
    if (isEnd) {
      if (granted.has(attempt) && search(rest, used - weight, fence, granted)) return true;
    } else if (used + weight <= capacity && attempt.fence > fence) {
      const others = new Set([...granted, attempt]);
      if (search(rest, used + weight, attempt.fence, others)) return true;
    }
  }
  return false;
}
