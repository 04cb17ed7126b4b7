/**
 * The fenced resource never accepts a write with a lower fence than a write that it has accepted.
 *
 * Replies of two writes may arrive in another order than the order of the resource, so the order of
 * lines decides nothing. The resource processed a write between its sending and its reply; without
 * `sent`, between the grant (the fence was unknown before) and the reply. A violation is a write
 * with a lower fence that was sent after the reply of a write with a greater fence: no choice of
 * moments explains it. If the resource numbers its writes (`at`), the numbers are compared too.
 *
 * A lease of the whole capacity has the greatest fence while it is held. So a refused write of such
 * a lease is a violation if the lease was held after the reply. It is excused like an overlap,
 * because a greater fence means another holder. The capacity is the greatest one up to the reply:
 * a lease of all permits has company after the number of permits was raised.
 *
 * This check covers the resource and the lock: fences protect the resource even where exclusion is
 * not guaranteed.
 */
import type { Attempt } from '../attempts.js';
import { Capacities } from '../capacities.js';
import type { Stamp, Use } from '../format.js';
import type { Check, Context, Observer } from '../run-checks.js';

/** An accepted write, and its place: the time of its reply, or its number. */
interface Write {
  readonly place: number;
  readonly fence: number;
  readonly by: Attempt | undefined;
}

/** A refused write of a lease of the whole capacity. */
interface Refused {
  readonly attempt: Attempt;
  readonly at: number;
  readonly t: number;
}

interface OnKey {
  /** Writes with a greater fence than all earlier replies, in order of time. */
  readonly answered: Write[];
  /** Writes in order of their number; fences never decrease. */
  readonly numbered: Write[];
}

/** Number of writes of a key that are remembered. */
const WRITES = 1 << 12;

export const use: Check = (context) => new Uses(context);

class Uses implements Observer {
  readonly #context: Context;
  readonly #keys = new Map<string, OnKey>();
  readonly #refused = new Map<Attempt, Refused>();
  readonly #capacities = new Capacities();

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event, at, attempt]: Parameters<NonNullable<Observer['see']>>): void {
    this.#capacities.see(event, at);
    if (event.e !== 'use') return;
    if (!event.accepted) {
      if (attempt?.state === 'held' && !this.#refused.has(attempt) && this.#isAlone(attempt, at)) {
        this.#refused.set(attempt, { attempt, at, t: event.t });
      }
      return;
    }
    let key = this.#keys.get(event.k);
    if (key === undefined) {
      key = { answered: [], numbered: [] };
      this.#keys.set(event.k, key);
    }
    if (this.#late(key, event, attempt)) return;
    if (event.at !== undefined) this.#number(key, event, event.at, attempt);
  }

  settled(attempt: Attempt): void {
    const refused = this.#refused.get(attempt);
    if (refused === undefined) return;
    this.#refused.delete(attempt);
    const { at, t } = refused;
    if (attempt.believedAt <= at) return;
    const what = `a write to ${attempt.key} was refused, although its lease was held afterwards`;
    // the resource has received a greater fence; which lease sent it is unknown
    const excused = this.#context.excuseOf(attempt, { at, t, fence: Number.POSITIVE_INFINITY });
    this.#context.report({ check: 'use', t, what, concerned: [attempt], excused });
  }

  #isAlone({ key, askAt, ask }: Attempt, at: number): boolean {
    return ask.weight >= Math.max(ask.capacity, this.#capacities.most(key, askAt, at));
  }

  /** True if the write was sent after the reply of a write with a greater fence. */
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

/** The number of writes with a smaller place. */
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

/** Inserts a write. If there are too many, drops the writes with the smallest places. */
function add(writes: Write[], index: number, write: Write): void {
  writes.splice(index, 0, write);
  if (writes.length >= 2 * WRITES) writes.splice(0, WRITES);
}
