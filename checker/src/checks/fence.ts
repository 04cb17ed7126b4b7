/**
 * I2: fences grow. A grant whose ask came after another grant was known has a greater fence, and no
 * two grants of a key have the same one, unless they are holds of one owner's lease.
 *
 * A lease that was passed on inside a process has the fence that was reserved for it, so it counts
 * from the ask of the first lease. Grants that ran side by side may be learned of in any order, so
 * only their difference is checked; so is that of a lease that came back from a condition, as its
 * ask is older than its line. Nothing excuses this: fences have to grow over restarts and forced
 * releases as well. The one exception is a hold that joins its owner's lease in a store that has
 * lost its last writes: the release of that lease can be among them, and it keeps its fence.
 */
import type { Attempt } from '../attempts.js';
import type { Check, Context, Observer } from '../judge.js';

interface OnKey {
  /** The greatest fence so far, and whose it is. */
  top: Attempt | undefined;
  /** Grants since the oldest open ask, by fence. */
  readonly recent: Map<number, Attempt>;
}

export const fence: Check = (context) => new Fences(context);

class Fences implements Observer {
  readonly #context: Context;
  readonly #keys = new Map<string, OnKey>();
  /** What was the greatest fence of its key when an open attempt asked. */
  readonly #floors = new Map<Attempt, Attempt>();

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
    const floor = this.#floors.get(attempt);
    const same = key.recent.get(got);
    const isLater = floor !== undefined && floor.grantAt < attempt.rootAt;
    if (isLater && got <= floor.fence && !isJoined(attempt, floor)) {
      if (same === undefined || !isJoined(attempt, same)) {
        this.#report('a fence that is not greater than one known before the ask', floor, attempt);
      }
    } else if (same !== undefined && !isJoined(attempt, same)) {
      this.#report('the same fence twice', same, attempt);
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
    // both may be from before the loss: what was lost began before the store was stopped
    const point = { at: attempt.grantAt, t, fence: Number.POSITIVE_INFINITY };
    const mayJoin = attempt.ask.owner !== undefined;
    const pardon = mayJoin ? this.#context.pardon(attempt, point) : undefined;
    const excused = pardon === 'amnesia' ? pardon : undefined;
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
