/**
 * Judges a history by what this run knows more than the checker of histories does: the moments at
 * which the store lost its memory, as fences count them.
 *
 * Overlaps of belief are excused where a store had lost its memory between the two grants, and
 * where the earlier lease had been ended by force. A fence that did not grow, a resource that
 * refused somebody who held, and something that is left in the store, never are.
 */
import type { HistoryEvent } from 'holdfast-checker';
import { Problems } from 'holdfast-trials/support/problems';
import { FORCED, OPTIONS } from './settings.js';

export interface Judgement {
  readonly problems: Problems;
  /** Overlaps that a loss of memory or a forced release explains. */
  readonly excused: { readonly amnesia: number; readonly force: number };
}

interface Belief {
  readonly k: string;
  readonly a: string;
  readonly from: number;
  to: number;
  readonly fence: number;
  /** The resource refused it. */
  refusedAt: number;
  /** It was held after that. */
  heldSince: boolean;
}

/** From when to when something was under way: in ms, or in fences. */
interface Span {
  readonly from: number;
  to: number;
}

/** A loss of memory: grants with a fence up to `to` may overlap with those from `from` on. */
interface Amnesia extends Span {
  readonly at: number;
}

/** How far fences, which count by ones after a step backwards, run ahead of the highest one. */
const AHEAD = 10_000;
/** How long a forced release that was not answered may still be carried out. */
const LATE_FORCE_MS = 15_000;

class Judge {
  readonly problems = new Problems();
  readonly excused = { amnesia: 0, force: 0 };
  readonly #beliefs = new Map<string, Belief>();
  readonly #amnesias: Amnesia[] = [];
  #highest = 0;
  readonly #forces: Span[] = [];
  readonly #forcing = new Map<string, Span>();
  readonly #pardoned = new Set<string>();

  see(event: HistoryEvent): void {
    switch (event.e) {
      case 'grant': {
        const { k, a, t, fence } = event;
        const belief = { k, a, from: t, to: t, fence, refusedAt: 0, heldSince: false };
        this.#beliefs.set(a, belief);
        this.#highest = Math.max(this.#highest, fence);
        break;
      }
      case 'hold':
      case 'release':
        this.#held(event.a, event.t);
        break;
      case 'use': {
        const belief = this.#beliefs.get(event.a);
        if (belief !== undefined && !event.accepted) belief.refusedAt = event.t;
        break;
      }
      case 'amnesia':
        this.#forget(event as unknown as Span, event.t);
        break;
      case 'force':
      case 'forced':
        this.#force(event.e, event.p, event.t);
        break;
      case 'fail':
        if (!/^(HOLDFAST|ended)/.test(event.code ?? 'ended')) {
          this.problems.add('error', `${event.p}: ${event.code}`);
        }
        break;
      case 'seen':
        if (event.holders.length + event.waiters.length > 0) {
          this.problems.add('left behind', JSON.stringify(event));
        }
        break;
      case 'begin':
      case 'resize':
      case 'stalled':
      case 'ask':
      case 'queued':
      case 'released':
      case 'lost':
      case 'crash':
      case 'fault':
      case 'calm':
      case 'end':
    }
  }

  compare(): void {
    const open = new Map<string, Belief[]>();
    const highest = new Map<string, Belief>();
    for (const belief of [...this.#beliefs.values()].sort((a, b) => a.from - b.from)) {
      const { k } = belief;
      const others = (open.get(k) ?? []).filter(({ to }) => to > belief.from);
      for (const other of others) this.#overlap(other, belief);
      const top = highest.get(k);
      if (top !== undefined && top.fence >= belief.fence) {
        if (top.fence > belief.fence && this.#explained(top, belief)) this.#pardoned.add(belief.a);
        else this.problems.add('fence', describe(top, belief));
      }
      if (top === undefined || belief.fence > top.fence) highest.set(k, belief);
      open.set(k, [...others, belief]);
    }
    for (const belief of this.#beliefs.values()) {
      if (!belief.heldSince || this.#pardoned.has(belief.a)) continue;
      this.problems.add('refused', `${belief.k}: the resource refused ${belief.a}, which held`);
    }
  }

  #held(a: string, t: number): void {
    const belief = this.#beliefs.get(a);
    if (belief === undefined) return;
    belief.to = t;
    belief.heldSince ||= belief.refusedAt > 0;
  }

  #force(e: 'force' | 'forced', p: string, t: number): void {
    const known = this.#forcing.get(p);
    if (e === 'forced') {
      if (known !== undefined) known.to = t;
      return;
    }
    const span = { from: t, to: t + LATE_FORCE_MS };
    this.#forces.push(span);
    this.#forcing.set(p, span);
  }

  #forget({ from, to }: Span, at: number): void {
    // after a step backwards fences are no times: they count on from the highest one
    const last = this.#highest > to ? this.#highest + AHEAD : to;
    this.#amnesias.push({ from, to: last, at });
  }

  #overlap(first: Belief, second: Belief): void {
    if (this.#explained(first, second)) {
      this.#pardoned.add(first.a).add(second.a);
    } else {
      this.problems.add('overlap', describe(first, second));
    }
  }

  /**
   * Both at once, or in the wrong order: what happened in between that allows it? The older lease
   * may be heard of when the newer one has ended, within the ttl that it was granted for.
   */
  #explained(first: Belief, second: Belief): boolean {
    const [older, newer] = first.fence < second.fence ? [first, second] : [second, first];
    if (second.from > first.to && (older === first || second.from > first.from + OPTIONS.ttl)) {
      return false;
    }
    const across = ({ from, to, at }: Amnesia): boolean =>
      older.fence <= to && newer.fence >= from && second.from <= at + 2 * OPTIONS.ttl;
    if (this.#amnesias.some(across)) {
      this.excused.amnesia += 1;
      return true;
    }
    if (older.k !== FORCED) return false;
    const force = this.#forces.some(
      ({ from, to }) => from <= newer.to && to >= older.from - OPTIONS.ttl,
    );
    if (force) this.excused.force += 1;
    return force;
  }
}

export function judge(events: readonly HistoryEvent[]): Judgement {
  const judging = new Judge();
  for (const event of events) judging.see(event);
  judging.compare();
  return judging;
}

function describe(first: Belief, second: Belief): string {
  const since = (time: number): string => (time - first.from).toFixed(3);
  const words = ({ a, from, to, fence }: Belief): string =>
    `${a} (fence ${fence}, ${since(from)} to ${since(to)} ms)`;
  return `${first.k} at ${first.from.toFixed(3)}: ${words(first)}, and ${words(second)}`;
}
