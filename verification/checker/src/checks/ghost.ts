/**
 * I6 and I8 in the store: no ended attempt holds or waits there.
 *
 * Each entry of `seen` needs an explanation:
 *
 *  - A holder: its lease is held; or, less than `grace` ago, it was lost, was released without a
 *    reply, or its process died.
 *  - A waiter: its ask is open, or ended less than `grace` ago. The waiters of a dead process stay
 *    in the queue until another process serves the queue; so do its unanswered requests.
 *  - An id without a known grant can only belong to such an ask, or to a wait at a condition that
 *    has not ended. Each of them explains one id.
 *  - If there was no fault since an ask ended, its withdrawal got a reply at once. It then explains
 *    nothing after `requestTimeout` and `slack`.
 *  - A store that lost its memory may show attempts that had ended before. A task may have got its
 *    lease from a task of its own process: its entry in the queue has an id that no grant names.
 *
 * The death of a process and a lost memory explain the waiters of the `last` event, and nothing
 * explains its holders.
 */
import type { Attempt } from '../attempts.js';
import type { Seen, Stamp } from '../format.js';
import type { Check, Context, Observer } from '../run-checks.js';
import { Recent } from '../recent.js';

/** Number of ids that are remembered. */
const IDS = 1 << 16;

export const ghost: Check = (context) => new Ghosts(context);

class Ghosts implements Observer {
  readonly #context: Context;
  readonly #ids = new Recent<Attempt>(IDS);
  /** Asks of a key that ended and whose entry no grant names, in order of their ends. */
  readonly #ended = new Map<string, Attempt[]>();
  /** Number of asks of a key that their process died before it withdrew. */
  readonly #orphans = new Map<string, number>();
  readonly #crashed = new Set<string>();
  /** Attempts of a key that wait at a condition: they wait in the store with an id of their own. */
  readonly #parked = new Map<string, Set<Attempt>>();
  /** Attempts of a key whose release has no answer. It may begin a wait that no event reports. */
  readonly #releasing = new Map<string, Set<Attempt>>();

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event, at, attempt]: Parameters<NonNullable<Observer['see']>>): void {
    if (event.e === 'seen') this.#seen(event);
    if (event.e === 'crash') this.#died(event.p, event.t);
    if (attempt !== undefined) this.#wait(event.e, attempt);
    if (attempt?.grant === undefined || attempt.grantAt !== at) return;
    this.#ids.set(rootOf(attempt.grant.id), attempt);
  }

  settled(attempt: Attempt): void {
    if (attempt.state === 'asked' || (attempt.grant !== undefined && !isHandedOn(attempt))) return;
    const { key, endT } = attempt;
    const ended = this.#ended.get(key) ?? [];
    ended.push(attempt);
    const { grace } = this.#context.begin;
    let gone = 0;
    while ((ended[gone] as Attempt).endT < endT - grace) gone += 1;
    this.#ended.set(key, gone > 0 ? ended.slice(gone) : ended);
  }

  #died(process: string, t: number): void {
    this.#crashed.add(process);
    for (const [key, ended] of this.#ended) {
      const lingering = ended.filter((each) => each.ask.p === process && this.#mayLinger(each, t));
      this.#orphans.set(key, (this.#orphans.get(key) ?? 0) + lingering.length);
    }
    for (const key of new Set([...this.#parked.keys(), ...this.#releasing.keys()])) {
      const [parked, releasing] = [setOf(this.#parked, key), setOf(this.#releasing, key)];
      const left = [...new Set([...parked, ...releasing])].filter(({ ask }) => ask.p === process);
      for (const attempt of left) {
        parked.delete(attempt);
        releasing.delete(attempt);
      }
      this.#orphans.set(key, (this.#orphans.get(key) ?? 0) + left.length);
    }
  }

  #wait(event: string, attempt: Attempt): void {
    const { key } = attempt;
    if (event === 'park') setOf(this.#parked, key).add(attempt);
    else if (event === 'woken') this.#parked.get(key)?.delete(attempt);
    else if (event === 'release') setOf(this.#releasing, key).add(attempt);
    else if (event === 'released') this.#releasing.get(key)?.delete(attempt);
  }

  #seen({ k, t, holders, waiters, last = false }: Seen & Stamp): void {
    if (last) {
      this.#end(k, t, holders, waiters);
      return;
    }
    let [unknown, waiting] = [0, 0];
    for (const { id, fence, weight } of holders) {
      const attempt = this.#ids.get(id);
      if (attempt === undefined) unknown += 1;
      else if (!this.#mayHold(attempt, t))
        this.#report(t, `${k} is still held by an ended attempt`, [attempt]);
      else if (fence !== rootFence(attempt) || weight !== attempt.ask.weight) {
        this.#report(t, `${k} is held with fence ${fence} and weight ${weight}`, [attempt]);
      }
    }
    for (const id of waiters) {
      const attempt = this.#ids.get(id);
      if (attempt === undefined) waiting += 1;
      else if (this.#isOrphan(attempt)) continue;
      // the grant may have been known before the store showed the queue
      else if (attempt.state !== 'held')
        this.#report(t, `${k} still has an ended attempt as a waiter`, [attempt]);
    }
    const { asked } = this.#context.attempts.onKey(k);
    const ended = this.#ended.get(k) ?? [];
    const lingering = ended.filter((each) => this.#mayLinger(each, t)).length;
    const explained = asked.size + lingering + (this.#parked.get(k)?.size ?? 0);
    const count = unknown + Math.max(0, waiting - (this.#orphans.get(k) ?? 0));
    if (count <= explained) return;
    const what = `${k} has ${count} holders or waiters without a grant; ${explained} are explained`;
    this.#report(t, what, ended.slice(-4));
  }

  #end(k: string, t: number, holders: Seen['holders'], waiters: readonly string[]): void {
    const known = waiters.map((id) => this.#ids.get(id)).filter((each) => each !== undefined);
    const lost = (this.#ended.get(k) ?? []).filter(({ endT }) => {
      return endT <= this.#context.amnesiaT(k);
    });
    const explained = lost.length + (this.#orphans.get(k) ?? 0);
    const unknown = waiters.length - known.length - explained;
    const left = known.filter((each) => !this.#isOrphan(each));
    const waiting = left.length + Math.max(0, unknown);
    if (holders.length + waiting === 0) return;
    const holding = holders.map(({ id }) => this.#ids.get(id)).filter((each) => each !== undefined);
    const what = `${holders.length} hold and ${waiting} wait for ${k} after the end`;
    this.#report(t, what, [...holding, ...left]);
  }

  #mayHold({ ask, state, outcome, endT, key }: Attempt, t: number): boolean {
    if (state === 'held' || state === 'releasing') return true;
    if (endT <= this.#context.amnesiaT(key)) return true;
    // it is the lease of an owner, which may have other holds
    if (state === 'released' && ask.owner !== undefined) return true;
    if (state === 'released' && outcome === 'freed') return false;
    return t - endT < this.#context.begin.grace;
  }

  /** Its process died, or the store lost its memory: it is not withdrawn. */
  #isOrphan({ ask, endT, key }: Attempt): boolean {
    return this.#crashed.has(ask.p) || endT <= this.#context.amnesiaT(key);
  }

  #mayLinger({ grant, state, endT, key }: Attempt, t: number): boolean {
    const { begin, faultT } = this.#context;
    if (endT <= this.#context.amnesiaT(key)) return true;
    // its entry was withdrawn when it got its lease
    if (grant !== undefined) return false;
    const isWithdrawn = state === 'failed' && faultT < endT;
    return t - endT < (isWithdrawn ? begin.requestTimeout + begin.slack : begin.grace);
  }

  #report(t: number, what: string, concerned: readonly Attempt[]): void {
    this.#context.report({ check: 'ghost', t, what, concerned });
  }
}

/** The id that the store knows. A lease that was handed on has the id `root/1` and so on. */
function rootOf(id: string): string {
  return id.split('/', 1)[0] as string;
}

/** It got the lease from a task of its process, so the store granted nothing to its own entry. */
function isHandedOn({ grant }: Attempt): boolean {
  return grant?.id.includes('/') === true;
}

/** The fence that the store granted to the root of a lease. */
function rootFence({ fence, grant }: Attempt): number {
  return fence - Number(grant?.id.split('/')[1] ?? 0);
}

function setOf(sets: Map<string, Set<Attempt>>, key: string): Set<Attempt> {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set);
  return set;
}
