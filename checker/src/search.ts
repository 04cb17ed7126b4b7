/**
 * Linearizability by search, after Wing and Gong (1993): tries every order in which grants and ends
 * could have taken effect, and says whether one of them is allowed. Exponential: for histories of a
 * few grants, to hold the checks of large ones against it.
 *
 * Each granted attempt is two operations. Its grant takes effect between ask and answer; its end
 * between the last belief and the answer of the release, or at any time after the last belief, or
 * never, if it was lost or died. An operation may be next if no other that is left ended before it
 * began. A grant is allowed if its weight fits and its fence is greater than the last.
 */
import { type Attempt, endedLive } from './attempts.js';

interface Operation {
  readonly attempt: Attempt;
  readonly from: number;
  readonly to: number;
  readonly isEnd: boolean;
}

/** True if the grants of one key can be put into an order that a lock allows. */
export function isLinearizable(
  attempts: readonly Attempt[],
  releasedAt: (attempt: Attempt) => number,
): boolean {
  const left: Operation[] = [];
  for (const attempt of attempts) {
    if (attempt.grant === undefined || attempt.believedAt < 0) continue;
    const { askAt, grantAt, believedAt, state, outcome } = attempt;
    left.push({ attempt, from: askAt, to: grantAt, isEnd: false });
    const isClean = state === 'released' && endedLive(outcome);
    const to = isClean ? releasedAt(attempt) : Number.POSITIVE_INFINITY;
    left.push({ attempt, from: believedAt, to, isEnd: true });
  }
  return search(left, 0, 0, new Set());
}

function search(
  left: readonly Operation[],
  used: number,
  fence: number,
  granted: ReadonlySet<Attempt>,
): boolean {
  if (left.every(({ isEnd, to }) => isEnd && to === Number.POSITIVE_INFINITY)) return true;
  const first = Math.min(...left.map(({ to }) => to));
  for (const operation of left) {
    const { attempt, from, isEnd } = operation;
    if (from > first) continue;
    const { weight, capacity } = attempt.ask;
    const rest = left.filter((other) => other !== operation);
    if (isEnd) {
      if (granted.has(attempt) && search(rest, used - weight, fence, granted)) return true;
    } else if (used + weight <= capacity && attempt.fence > fence) {
      const others = new Set([...granted, attempt]);
      if (search(rest, used + weight, attempt.fence, others)) return true;
    }
  }
  return false;
}
