/**
 * Linearizability of the history of a key. Each grant needs a moment between its ask and its reply,
 * and each end a moment at or after the last belief, so that the moments of the grants are in the
 * order of their fences and the capacity is never exceeded.
 *
 * Fences give the order, so no search is needed. The earliest end and the latest grant leave the
 * most room. The latest moment of a grant that keeps the order of the fences is the earliest reply
 * among its own and those of grants with a greater fence. The check tests the capacity with these
 * moments. (Whether this moment is after the ask is part of the check `fence`.) If beliefs alone
 * exceed the capacity, `exclusion` reports it. This check reports overlaps that only the fences
 * show.
 *
 * It is sound: if it reports, there is no choice of moments. Together with `fence` and `exclusion`
 * it is complete for grants and their ends; a search over all choices agrees (`search.ts`). It does
 * not check refusals, nor leases that no client learned of.
 */
import type { Attempt } from '../attempts.js';
import type { Check, Context } from '../run-checks.js';
import { type SpanRules, spanCheck } from './spans.js';

/** A grant with a greater fence than all earlier grants of the key. */
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
      // an acquisition that joins its owner's lease has the same fence and changes no order
      if (ask.owner === undefined || records.at(-1)?.fence !== fence) {
        records.push({ at: grantAt, fence });
      }
    }
    this.#forget(key, records);
    if (greater === undefined) return grantAt;
    return greater.at > attempt.askAt ? greater.at : grantAt;
  }

  /** Drops grants from before the oldest open ask: only the check `fence` needs them. */
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
