/**
 * I4: grants are in the order of the queue, within the bound of the mode.
 *
 * An attempt is in the queue from its `queued` on. It is overtaken by a grant with a smaller fence
 * whose attempt has a later ticket, or has none and asked when the other was queued already. These
 * are certain: the store made such a grant while the attempt was in the queue.
 *
 *  - Default mode, capacity 1: overtaken at most `localHandOffs` times for each grant before its
 *    own, the lease that ran when it was queued being one.
 *  - Fair: never by a fair attempt, and at most `localHandOffs` times by others, which is what a
 *    lease from before may still be passed on.
 *  - Capacity above 1: never, as nothing is passed on.
 *
 * Excused where the attempt may have lost its turn, and got its place back: a fault or a forced
 * release came during the wait, its process stood still for a good part of a claim window, or
 * messages take as long as that. A fault is felt for `felt` longer: by default a request's time, a
 * claim window and `slack`. A hold that joins its owner's lease overtakes nobody, nor does who came
 * back from a condition. Attempts that gave up are not judged: whether they were granted is not
 * known.
 */
import type { Attempt } from '../attempts.js';
import type { Check, Context, Observer } from '../judge.js';

interface Waiting {
  readonly attempt: Attempt;
  readonly ticket: number;
  readonly queuedAt: number;
  /** Grants of the key when it was queued. */
  readonly grants: number;
  overtaken: number;
}

interface OnKey {
  /** By ticket. */
  readonly waiting: Waiting[];
  /** Grants since the first of them was queued. */
  recent: Attempt[];
  grants: number;
}

/** Part of a claim window that may be missed: a lease may be half as long, and is looked for. */
const PART = 1 / 8;

export const order: Check = (context) => new Order(context);

class Order implements Observer {
  readonly #context: Context;
  readonly #keys = new Map<string, OnKey>();
  /** Until when a process last stood still for long. */
  readonly #stalls = new Map<string, number>();
  /** When leases of a key were last ended by force. */
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
    if (key !== undefined && attempt.grant === undefined) this.#leave(key, attempt);
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
    waiting.splice(place, 0, { attempt, ticket, queuedAt, grants, overtaken: 0 });
  }

  #granted(attempt: Attempt): void {
    const key = this.#keys.get(attempt.key);
    if (key === undefined) return;
    const waited = this.#leave(key, attempt);
    key.grants += 1;
    for (const waiting of key.waiting) {
      if (attempt.ticket !== 0 && waiting.ticket > attempt.ticket) break;
      if (overtakes(attempt, waiting)) waiting.overtaken += 1;
    }
    key.recent.push(attempt);
    if (waited !== undefined && waited.overtaken > 0) this.#judge(key, waited);
    this.#forget(attempt.key, key);
  }

  #judge({ recent, grants }: OnKey, waited: Waiting): void {
    const { attempt, overtaken } = waited;
    const { fair, capacity } = attempt.ask;
    const handOffs = capacity === 1 ? this.#context.begin.localHandOffs : 0;
    const before = grants - 1 - waited.grants - overtaken;
    const bound = fair ? handOffs : handOffs * (1 + Math.max(0, before));
    if (overtaken <= bound && !fair) return;
    // those with a greater fence came later, and were only known earlier
    const by = recent.filter((each) => each.fence < attempt.fence && overtakes(each, waited));
    const byFair = by.filter(({ ask }) => ask.fair);
    if (by.length <= bound && !(fair && byFair.length > 0)) return;
    const what = `overtaken ${by.length} times on ${attempt.key}, ${byFair.length} of them by fair`;
    this.#context.report({
      check: 'order',
      t: attempt.grant?.t ?? 0,
      what: `${what}; allowed are ${bound} and ${fair ? 0 : bound}`,
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

  #leave({ waiting }: OnKey, attempt: Attempt): Waiting | undefined {
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
