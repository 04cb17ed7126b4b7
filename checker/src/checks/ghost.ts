/**
 * I6 and I8, as the store shows them: nothing holds or waits there that has ended.
 *
 * What `seen` lists must be explained: a holder by a lease that is held, or that was lost, or
 * released without an answer, or whose process died, less than `grace` ago; a waiter by an ask that
 * is open, or ended less than `grace` ago. Waiters whose process has died stay in the queue until
 * somebody looks at it, and so does what a process had asked for when it died. An id that no grant
 * has told of can only belong to such an ask, and each explains one. Where nothing was broken since
 * an ask ended, its withdrawal was answered at once: it explains nothing after `requestTimeout` and
 * `slack`. A store that lost its memory may remember what had ended before. Nothing explains what
 * is there at the `last` look.
 */
import type { Attempt } from '../attempts.js';
import type { Seen, Stamp } from '../format.js';
import type { Check, Context, Observer } from '../judge.js';
import { Recent } from '../recent.js';

/** Ids that are remembered. */
const IDS = 1 << 16;

export const ghost: Check = (context) => new Ghosts(context);

class Ghosts implements Observer {
  readonly #context: Context;
  readonly #ids = new Recent<Attempt>(IDS);
  /** Asks of a key that ended without a grant, the latest last. */
  readonly #ended = new Map<string, Attempt[]>();
  /** Asks of a key that their process could not withdraw any more. */
  readonly #orphans = new Map<string, number>();
  readonly #crashed = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event, at, attempt]: Parameters<NonNullable<Observer['see']>>): void {
    if (event.e === 'seen') this.#seen(event);
    if (event.e === 'crash') this.#died(event.p, event.t);
    if (attempt?.grant === undefined || attempt.grantAt !== at) return;
    this.#ids.set(attempt.grant.id, attempt);
  }

  settled(attempt: Attempt): void {
    if (attempt.grant !== undefined || attempt.state === 'asked') return;
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
      const left = ended.filter((each) => each.ask.p === process && this.#mayLinger(each, t));
      this.#orphans.set(key, (this.#orphans.get(key) ?? 0) + left.length);
    }
  }

  #seen({ k, t, holders, waiters, last = false }: Seen & Stamp): void {
    if (last) {
      if (holders.length + waiters.length === 0) return;
      const ids = [...holders.map(({ id }) => id), ...waiters];
      const concerned = ids.map((id) => this.#ids.get(id)).filter((each) => each !== undefined);
      const what = `${holders.length} hold and ${waiters.length} wait for ${k}, and all are over`;
      this.#report(t, what, concerned);
      return;
    }
    let [unknown, waiting] = [0, 0];
    for (const { id, fence, weight } of holders) {
      const attempt = this.#ids.get(id);
      if (attempt === undefined) unknown += 1;
      else if (!this.#mayHold(attempt, t)) this.#report(t, `${k} is still held`, [attempt]);
      else if (fence !== attempt.fence || weight !== attempt.ask.weight) {
        this.#report(t, `${k} is held with fence ${fence} and weight ${weight}`, [attempt]);
      }
    }
    for (const id of waiters) {
      const attempt = this.#ids.get(id);
      if (attempt === undefined) waiting += 1;
      else if (this.#isOrphan(attempt)) continue;
      // a lease that was passed on a moment ago is still waited for in the eyes of the store
      else if (attempt.state !== 'held') this.#report(t, `${k} is still waited for`, [attempt]);
    }
    const { asked } = this.#context.attempts.onKey(k);
    const ended = this.#ended.get(k) ?? [];
    const explained = asked.size + ended.filter((each) => this.#mayLinger(each, t)).length;
    const count = unknown + Math.max(0, waiting - (this.#orphans.get(k) ?? 0));
    if (count <= explained) return;
    const what = `${count} that were never granted hold or wait for ${k}, ${explained} may`;
    this.#report(t, what, ended.slice(-4));
  }

  #mayHold({ ask, state, outcome, endT, key }: Attempt, t: number): boolean {
    if (state === 'held' || state === 'releasing') return true;
    if (endT <= this.#context.amnesiaT(key)) return true;
    // the lease is its owner's, and other holds of it may go on
    if (state === 'released' && ask.owner !== undefined) return true;
    if (state === 'released' && outcome === 'freed') return false;
    return t - endT < this.#context.begin.grace;
  }

  /** Nobody could, or would, withdraw it. */
  #isOrphan({ ask, endT, key }: Attempt): boolean {
    return this.#crashed.has(ask.p) || endT <= this.#context.amnesiaT(key);
  }

  #mayLinger({ state, endT, key }: Attempt, t: number): boolean {
    const { begin, faultT } = this.#context;
    const isWithdrawn = state === 'failed' && faultT < endT;
    return (
      endT <= this.#context.amnesiaT(key) ||
      t - endT < (isWithdrawn ? begin.requestTimeout + begin.slack : begin.grace)
    );
  }

  #report(t: number, what: string, concerned: readonly Attempt[]): void {
    this.#context.report({ check: 'ghost', t, what, concerned });
  }
}
