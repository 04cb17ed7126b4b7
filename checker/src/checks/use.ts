/**
 * The fenced resource never accepts a write with a lower fence than one it has accepted.
 *
 * The answers of two writes may be read in another order than that in which the resource took them.
 * So the order of lines decides nothing. A write was taken between the moment of its sending and
 * that of its answer; without `sent`, between the grant (its fence was not known before) and the
 * answer. Reported is what no choice of these moments explains: a write with a lower fence that was
 * sent after the answer of one with a greater fence. Where the resource numbers its writes (`at`),
 * their numbers are compared as well, whatever their times are.
 *
 * The check is about the resource as much as about the lock: it is what fences are for, and what
 * remains where exclusion is not promised.
 */
import type { Attempt } from '../attempts.js';
import type { Stamp, Use } from '../format.js';
import type { Check, Context, Observer } from '../judge.js';

/** An accepted write, and its place: the time of its answer, or its number. */
interface Write {
  readonly place: number;
  readonly fence: number;
  readonly by: Attempt | undefined;
}

interface OnKey {
  /** Writes with a greater fence than all answered before: greater times, greater fences. */
  readonly answered: Write[];
  /** Writes by their number, in which fences do not go back. */
  readonly numbered: Write[];
}

/** Writes of a key that are remembered at least. */
const WRITES = 1 << 12;

export const use: Check = (context) => new Uses(context);

class Uses implements Observer {
  readonly #context: Context;
  readonly #keys = new Map<string, OnKey>();

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event, , attempt]: Parameters<NonNullable<Observer['see']>>): void {
    if (event.e !== 'use' || !event.accepted) return;
    let key = this.#keys.get(event.k);
    if (key === undefined) {
      key = { answered: [], numbered: [] };
      this.#keys.set(event.k, key);
    }
    if (this.#late(key, event, attempt)) return;
    if (event.at !== undefined) this.#number(key, event, event.at, attempt);
  }

  /** True if the write was sent when one with a greater fence had been answered. */
  #late({ answered }: OnKey, event: Use & Stamp, by: Attempt | undefined): boolean {
    const { t, fence, sent = by?.grant?.t ?? t } = event;
    const before = answered[placeOf(answered, sent) - 1];
    if (before !== undefined && before.fence > fence) {
      this.#report(event, before, by);
      return true;
    }
    if (fence > (answered.at(-1)?.fence ?? 0))
      add(answered, answered.length, { place: t, fence, by });
    return false;
  }

  #number({ numbered }: OnKey, event: Use & Stamp, place: number, by: Attempt | undefined): void {
    const { fence } = event;
    const index = placeOf(numbered, place);
    const [before, after] = [numbered[index - 1], numbered[index]];
    if (before !== undefined && before.fence > fence) this.#report(event, before, by);
    else if (after !== undefined && after.fence < fence) this.#report(event, after, by);
    else add(numbered, index, { place, fence, by });
  }

  #report({ k, t, fence }: Use & Stamp, other: Write, by: Attempt | undefined): void {
    const concerned = [other.by, by].filter((each) => each !== undefined);
    const [first, second] = other.fence > fence ? [other.fence, fence] : [fence, other.fence];
    const what = `a write to ${k} with fence ${second} was accepted after one with ${first}`;
    this.#context.report({ check: 'use', t, what, concerned });
  }
}

/** How many writes have a smaller place. */
function placeOf(writes: readonly Write[], place: number): number {
  let low = 0;
  let high = writes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((writes[middle] as Write).place < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What is dropped has the smallest places; the last of it stays, as the floor of the rest. */
function add(writes: Write[], index: number, write: Write): void {
  writes.splice(index, 0, write);
  if (writes.length >= 2 * WRITES) writes.splice(0, WRITES);
}
