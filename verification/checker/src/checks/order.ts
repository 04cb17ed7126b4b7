/**
 * I4: grants are in the order of the queue, within the bound of the mode.
 *
 * An attempt is in the queue after its `queued`. It is overtaken by a grant that has a smaller
 * fence and a later ticket; or a smaller fence, no ticket, and an ask after this `queued`. Such a
 * grant is certain to be an overtaking: the store made it while the attempt was in the queue.
 *
 *  - Default mode, capacity 1: overtaken at most `localHandOffs` times for each grant before its
 *    own, and as often as a root that was granted alone allows (eight times `localHandOffs`) by the
 *    lease that was held when it was queued. A root whose oldest task gave up keeps its place.
 *  - Fair mode: never overtaken by a fair attempt, and by others only as often as a root that was
 *    granted alone allows, because an earlier lease may still be handed off locally.
 *  - Capacity above 1: never overtaken, because there are no local hand-offs.
 *
 * Excused if the attempt may have lost its turn and got its place back: there was a fault or a
 * forced release during the wait, its process stalled for a large part of a claim window, or
 * messages take that long. A fault counts for `felt` longer: by default a request, a claim window
 * and `slack`. A hold that joins its owner's lease does not overtake; neither does a lease that
 * returns from a condition. Attempts that ended without a grant are not checked: whether the store
 * granted them is unknown.
 */
import type { Attempt } from '../attempts.js';
import type { Check, Context, Observer } from '../run-checks.js';

interface Waiting {
  readonly attempt: Attempt;
  readonly ticket: number;
  readonly queuedAt: number;
  /** Number of grants of the key when it was queued. */
  readonly grants: number;
  overtaken: number;
  /** Attempts before it that gave up. */
  left: number;
}

interface OnKey {
  /** In order of tickets. */
  readonly waiting: Waiting[];
  /** Grants since the first of these was queued. */
  recent: Attempt[];
  grants: number;
}

/** A root that was granted alone has this many times the hand-offs, and by that at most so many. */
const ALONE = 8;
const ALONE_MAX = 128;
/** Part of a claim window for which a process may stall without losing its turn. */
const PART = 1 / 8;

export const order: Check = (context) => new Order(context);

class Order implements Observer {
  readonly #context: Context;
  readonly #keys = new Map<string, OnKey>();
  /** When the last long stall of a process ended. */
  readonly #stalls = new Map<string, number>();
  /** When the last forced release of a key was called or returned. */
  readonly #forced = new Map<string, number>();

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event, at, attempt]: Parameters<NonNullable<Observer['see']>>): void {
    if (event.e === 'stalled' && event.ms > PART * this.#context.begin.claimWindow) {
      this.#stalls.set(event.p, event.t);
    } else if (event.e === 'forced' || event.e === 'force') {
      this.#forced.set(event.k, event.t);
    }
    if (attempt === undefined) return;
    if (event.e === 'queued' && attempt.state === 'asked') this.#queued(attempt, at);
    else if (event.e === 'grant' && attempt.grantAt === at) this.#granted(attempt);
  }

  settled(attempt: Attempt): void {
    const key = this.#keys.get(attempt.key);
    if (key === undefined || attempt.grant !== undefined) return;
    const left = this.#remove(key, attempt);
    if (left === undefined) return;
    for (const waiting of key.waiting) if (waiting.ticket > left.ticket) waiting.left += 1;
  }

  #queued(attempt: Attempt, queuedAt: number): void {
    let key = this.#keys.get(attempt.key);
    if (key === undefined) {
      key = { waiting: [], recent: [], grants: 0 };
      this.#keys.set(attempt.key, key);
    }
    const { waiting, grants } = key;
    const { ticket } = attempt;
    const known = waiting.findIndex((each) => each.attempt === attempt);
    if (waiting[known]?.ticket === ticket) return;
    if (known >= 0) waiting.splice(known, 1);
    let place = waiting.length;
    while (place > 0 && (waiting[place - 1] as Waiting).ticket > ticket) place -= 1;
    waiting.splice(place, 0, { attempt, ticket, queuedAt, grants, overtaken: 0, left: 0 });
  }

  #granted(attempt: Attempt): void {
    const key = this.#keys.get(attempt.key);
    if (key === undefined) return;
    const waited = this.#remove(key, attempt);
    key.grants += 1;
    for (const waiting of key.waiting) {
      if (attempt.ticket !== 0 && waiting.ticket > attempt.ticket) break;
      if (overtakes(attempt, waiting)) waiting.overtaken += 1;
    }
    key.recent.push(attempt);
    if (waited !== undefined && waited.overtaken > 0) this.#runChecks(key, waited);
    this.#forget(attempt.key, key);
  }

  #runChecks({ recent, grants }: OnKey, waited: Waiting): void {
    const { attempt, overtaken } = waited;
    const { fair, capacity } = attempt.ask;
    const handOffs = capacity === 1 ? this.#context.begin.localHandOffs : 0;
    const alone = Math.max(handOffs, Math.min(ALONE_MAX, ALONE * handOffs));
    const before = Math.max(0, grants - 1 - waited.grants - overtaken);
    const others = handOffs * before + (handOffs > 0 ? handOffs + 1 : 0) * waited.left;
    const bound = fair ? alone : alone + others;
    if (overtaken <= bound && !fair) return;
    // grants with a greater fence came later, and only their replies came earlier
    const by = recent.filter((each) => each.fence < attempt.fence && overtakes(each, waited));
    const byFair = by.filter(({ ask }) => ask.fair);
    if (by.length <= bound && !(fair && byFair.length > 0)) return;
    const what = `overtaken ${by.length} times on ${attempt.key}, ${byFair.length} of them fair`;
    this.#context.report({
      check: 'order',
      t: attempt.grant?.t ?? 0,
      what: `${what}; the limits are ${bound} and ${fair ? 0 : bound}`,
      concerned: [attempt, ...by.slice(0, 8)],
      excused: this.#mayLoseItsTurn(attempt) ? 'turn' : undefined,
    });
  }

  #mayLoseItsTurn({ ask: { t, p, k } }: Attempt): boolean {
    const { begin, faultT } = this.#context;
    const never = Number.NEGATIVE_INFINITY;
    const aftermath = faultT + begin.felt;
    const last = Math.max(aftermath, this.#stalls.get(p) ?? never, this.#forced.get(k) ?? never);
    return last >= t || 2 * begin.delay > PART * begin.claimWindow;
  }

  #remove({ waiting }: OnKey, attempt: Attempt): Waiting | undefined {
    const place = waiting.findIndex((each) => each.attempt === attempt);
    return place < 0 ? undefined : waiting.splice(place, 1)[0];
  }

  #forget(name: string, key: OnKey): void {
    if (key.waiting.length === 0) {
      this.#keys.delete(name);
      return;
    }
    if (key.recent.length < 64) return;
    const oldest = Math.min(...key.waiting.map(({ queuedAt }) => queuedAt));
    const kept = key.recent.findIndex(({ grantAt }) => grantAt > oldest);
    if (kept < 0) key.recent = [];
    else if (kept > key.recent.length / 2) key.recent.splice(0, kept);
  }
}

function overtakes({ ask, askAt, ticket }: Attempt, waiting: Waiting): boolean {
  if (ask.owner !== undefined || ask.back === true) return false;
  return ticket === 0 ? askAt > waiting.queuedAt : ticket > waiting.ticket;
}
