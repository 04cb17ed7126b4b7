/**
 * I2: fences grow. If an attempt asks after another grant is known, its fence is greater than the
 * fence of that grant. Two grants of a key have different fences, unless they are holds of one
 * owner's lease.
 *
 * A local hand-off uses a fence that was reserved for the first lease, so the ask of the first
 * lease counts. Replies of concurrent grants may arrive in any order, so only the difference of
 * their fences is checked. The same holds for a lease that returns from a condition, because its
 * request is older than its `ask`. Nothing excuses a violation: fences must also grow across
 * restarts and forced releases. The one exception is a hold that joins its owner's lease in a store
 * that has lost its last writes: if the release of that lease is among them, the lease keeps its
 * fence.
 */
import type { Attempt } from '../attempts.js';
import type { Check, Context, Observer } from '../run-checks.js';
import { Recent } from '../recent.js';

/** Number of leases of owners that are remembered. */
const LEASES = 1 << 12;

interface OnKey {
  /** The attempt with the greatest fence. */
  top: Attempt | undefined;
  /** Grants since the oldest open ask, by fence. */
  readonly recent: Map<number, Attempt>;
}

export const fence: Check = (context) => new Fences(context);

class Fences implements Observer {
  readonly #context: Context;
  readonly #keys = new Map<string, OnKey>();
  /** For each open attempt: the attempt that had the greatest fence of the key at its ask. */
  readonly #floors = new Map<Attempt, Attempt>();
  /** The first hold of each lease of an owner, by key and fence. */
  readonly #firstHolds = new Recent<Attempt>(LEASES);

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event, at, attempt]: Parameters<NonNullable<Observer['see']>>): void {
    if (attempt === undefined) return;
    if (event.e === 'ask') {
      const top = this.#keys.get(event.k)?.top;
      if (top !== undefined && event.back !== true) this.#floors.set(attempt, top);
    } else if (attempt.grantAt === at) {
      this.#granted(attempt);
      this.#floors.delete(attempt);
    } else if (attempt.state !== 'asked') {
      this.#floors.delete(attempt);
    }
  }

  #granted(attempt: Attempt): void {
    const { key: name, fence: got } = attempt;
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = { top: undefined, recent: new Map() };
      this.#keys.set(name, key);
    }
    if (attempt.ask.owner !== undefined && this.#firstHolds.get(leaseName(attempt)) === undefined) {
      this.#firstHolds.set(leaseName(attempt), attempt);
    }
    const floor = this.#floors.get(attempt);
    const same = key.recent.get(got);
    const isLater = floor !== undefined && floor.grantAt < attempt.rootAt;
    if (isLater && got <= floor.fence && !isJoined(attempt, floor)) {
      if (same === undefined || !isJoined(attempt, same)) {
        this.#report('a fence is not greater than a fence known before the ask', floor, attempt);
      }
    } else if (same !== undefined && !isJoined(attempt, same)) {
      this.#report('two grants have the same fence', same, attempt);
    }
    if (got > (key.top?.fence ?? 0)) key.top = attempt;
    key.recent.set(got, attempt);
    const { asked } = this.#context.attempts.onKey(name);
    const oldest = asked.values().next().value?.askAt ?? Number.POSITIVE_INFINITY;
    for (const [recent, { grantAt, state, ask }] of key.recent) {
      const mayBeJoined = ask.owner !== undefined && (state === 'held' || state === 'releasing');
      if (grantAt >= oldest || mayBeJoined) break;
      key.recent.delete(recent);
    }
  }

  #report(what: string, earlier: Attempt, attempt: Attempt): void {
    const t = attempt.grant?.t ?? 0;
    // both may be from before the event: the first lost write is older than the stop of the store
    const point = { at: attempt.grantAt, t, fence: Number.POSITIVE_INFINITY };
    const first = this.#firstHolds.get(leaseName(attempt));
    const excuse = first === undefined ? undefined : this.#context.excuseOf(first, point);
    const excused = excuse === 'amnesia' ? excuse : undefined;
    this.#context.report({ check: 'fence', t, what, concerned: [earlier, attempt], excused });
  }
}

/** Both are holds of the same owner's lease, or the same hold with another weight. */
function isJoined(one: Attempt, other: Attempt): boolean {
  if (one.name === other.name) return true;
  return one.ask.owner !== undefined && one.ask.owner === other.ask.owner && same(one, other);
}

function same(one: Attempt, other: Attempt): boolean {
  return one.fence === other.fence;
}

function leaseName({ key, fence: got }: Attempt): string {
  return `${got} ${key}`;
}
