/**
 * Excuses for overlaps that a single store does not promise to prevent: the store has lost its
 * memory of a lease, or the lease was ended by a forced release.
 *
 * A lease is from before a loss of memory if it was asked for before the loss. If the event has the
 * fences `from` and `to` (fences are times of the store), the fences decide instead: a lease with a
 * fence up to `to` may be from before the loss, and its overlaps with a fence from `from` on are
 * excused for at most two ttl. After a clock was set back, fences continue from the greatest one,
 * so all fences near that one are from before the loss. An acquisition that joins the lease of its
 * owner has the fence of that lease, which says nothing about when it joined: the time of its reply
 * decides.
 *
 * A lease is from before a forced release if it was asked for before the forced release returned.
 */
import type { Attempt } from './attempts.js';
import type { Amnesia, HistoryEvent, Stamp } from './format.js';

/** Why an overlap is excused. */
export type StoreExcuse = 'amnesia' | 'force';

/** The point at which a lease is checked: the grant of another lease. */
export interface Point {
  readonly at: number;
  readonly t: number;
  /** The greatest fence at this point. */
  readonly fence: number;
  /** The last reply of an acquisition with an owner, which may have joined an older lease. */
  readonly joinedT?: number;
}

interface Loss {
  readonly at: number;
  readonly t: number;
  readonly k: string | undefined;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

interface Forced {
  readonly p: string;
  readonly from: number;
  to: number;
  readonly id: string | undefined;
}

/** After a step backwards fences count by ones: how far they may pass the greatest one. */
const AHEAD = 10_000;
const NEVER = Number.NEGATIVE_INFINITY;

export class Excuses {
  readonly #losses: Loss[] = [];
  readonly #forced = new Map<string, Forced[]>();
  #highest = 0;

  see(event: HistoryEvent, at: number): void {
    if (event.e === 'grant') this.#highest = Math.max(this.#highest, event.fence);
    else if (event.e === 'amnesia') this.#lost(event, at);
    else if (event.e === 'force') {
      const forced = this.#forced.get(event.k) ?? [];
      forced.push({ p: event.p, from: at, to: Number.POSITIVE_INFINITY, id: event.id });
      this.#forced.set(event.k, forced);
    } else if (event.e === 'forced') {
      const { p, id: forcedId } = event;
      const open = this.#forced
        .get(event.k)
        ?.find((each) => each.p === p && each.id === forcedId && each.to > at);
      if (open !== undefined) open.to = at;
    }
  }

  /** The reason why the store does not guarantee this lease at this point, if there is one. */
  of(attempt: Attempt, point: Point, ttl: number): StoreExcuse | undefined {
    const { key, rootAt, fence, grant } = attempt;
    const isForgotten = ({ k, at, t, from, to }: Loss): boolean => {
      if (k !== undefined && k !== key) return false;
      if (from === undefined || to === undefined) return at <= point.at && rootAt < at;
      const isLater = point.fence >= from || (point.joinedT ?? NEVER) >= t;
      return fence <= to && isLater && point.t <= t + 2 * ttl;
    };
    if (this.#losses.some(isForgotten)) return 'amnesia';
    const isForced = ({ from, to, id }: Forced): boolean =>
      from <= point.at && rootAt < to && (id === undefined || id === grant?.id);
    return this.#forced.get(key)?.some(isForced) === true ? 'force' : undefined;
  }

  /** The time of the last loss of memory of a key. */
  amnesiaT(key: string): number {
    return this.#losses.findLast(({ k }) => k === undefined || k === key)?.t ?? NEVER;
  }

  #lost({ t, k, from, to }: Amnesia & Stamp, at: number): void {
    const last = to !== undefined && this.#highest > to ? this.#highest + AHEAD : to;
    this.#losses.push({ at, t, k, from, to: last });
  }
}
