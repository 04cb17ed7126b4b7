/**
 * Linearizability of a key's history: whether each grant can be given a moment between its ask and
 * its answer, and each end a moment from the last belief on, so that the moments of grants are in
 * the order of their fences and the capacity is never exceeded.
 *
 * Fences give the order, so there is no search. Ends as early and grants as late as possible are
 * best: both only make room. The latest moment that leaves the order of fences intact is that of
 * the earliest answer among its own and those with a greater fence; the check is that the capacity
 * holds with these. (That this moment is not before the ask is the check of fences: a grant whose
 * ask came after the answer of a greater fence.) Points that are overfull by belief alone are left
 * to `exclusion`: what is reported here is only seen with the fences.
 *
 * Sound: if it reports, no choice of moments exists. Complete for grants and their ends, together
 * with `fence` and `exclusion`; a search over all choices agrees (`search.ts`). It cannot see
 * whether a refusal was right, and nothing of leases that nobody was told of.
 */
import type { Attempt } from '../attempts.js';
import type { Check, Context } from '../judge.js';
import { type SpanRules, spanCheck } from './spans.js';

/** Grants of a key whose fence is greater than all before: greater positions, greater fences. */
interface Highest {
  readonly at: number;
  readonly fence: number;
}

export const linear: Check = spanCheck((context) => {
  const records = new Records(context);
  const starts = new WeakMap<Attempt, number>();
  const rules: SpanRules = {
    check: 'linear',
    start: (attempt) => starts.get(attempt) ?? attempt.grantAt,
    see: (event, at, attempt) => {
      if (event.e !== 'grant' || attempt?.grantAt !== at) return;
      const start = records.add(attempt);
      if (start < at) starts.set(attempt, start);
    },
    what: (total, limit, key) =>
      `${total} of ${limit} held at once on ${key}, if grants are in the order of their fences`,
    concerns: (spans) => {
      const last = Math.max(...spans.map(({ attempt }) => attempt.grantAt));
      return spans.some(({ to }) => to < last);
    },
  };
  return rules;
});

class Records {
  readonly #context: Context;
  readonly #keys = new Map<string, Highest[]>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** The latest moment of a grant that keeps the order of fences. */
  add(attempt: Attempt): number {
    const { key, fence, grantAt, ask } = attempt;
    const records = this.#keys.get(key) ?? [];
    this.#keys.set(key, records);
    const greater = records[firstAbove(records, fence)];
    if (greater === undefined) {
      // an acquisition that joins its owner's lease has the same fence, and changes no order
      if (ask.owner === undefined || records.at(-1)?.fence !== fence) {
        records.push({ at: grantAt, fence });
      }
    }
    this.#forget(key, records);
    if (greater === undefined) return grantAt;
    return greater.at > attempt.askAt ? greater.at : grantAt;
  }

  /** What was answered before the oldest open ask can only be the check of fences' concern. */
  #forget(key: string, records: Highest[]): void {
    const { asked } = this.#context.attempts.onKey(key);
    const oldest = asked.values().next().value?.askAt ?? Number.POSITIVE_INFINITY;
    let gone = 0;
    while ((records[gone]?.at ?? Number.POSITIVE_INFINITY) < oldest) gone += 1;
    if (gone === records.length) this.#keys.delete(key);
    else if (gone > records.length / 2) records.splice(0, gone);
  }
}

function firstAbove(records: readonly Highest[], fence: number): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records[middle] as Highest).fence > fence) high = middle;
    else low = middle + 1;
  }
  return low;
}
