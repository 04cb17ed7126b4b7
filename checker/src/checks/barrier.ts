/**
 * A generation of a barrier takes as many parties as its size says, all of whom arrived before the
 * first of them passed.
 *
 *  - No two parties of a generation have the same index, and no index is the size or more.
 *  - A party of a generation called before the first of the others was told that it is open.
 *  - When the first passes, as many have arrived as it takes. A call that has failed, or whose
 *    process has died, counts for `grace`: the store may have counted it.
 *  - Generations grow: a call that began after a generation was known to be open passes with a
 *    greater one.
 *  - No call is open at the end, unless its process has died.
 *
 * A store that has lost its memory may open a generation again that was open already, and take a
 * party of before it for one that waits: excused for two ttl and `grace`.
 */
import type { Await, Passed, Stamp } from '../format.js';
import type { Check, Context, Observer } from '../judge.js';
import { Recent } from '../recent.js';

interface Arrival extends Await, Stamp {
  readonly at: number;
  /** The greatest generation known to be open when it called. */
  readonly floor: number;
}

interface Generation {
  readonly indices: Set<number>;
  /** When the first of it passed. */
  readonly at: number;
}

interface Barrier {
  last: number;
  readonly open: Map<string, Arrival>;
  /** When calls ended without a passage. */
  ended: number[];
}

const GENERATIONS = 1 << 10;

export const barrier: Check = (context) => new Barriers(context);

class Barriers implements Observer {
  readonly #context: Context;
  readonly #barriers = new Map<string, Barrier>();
  readonly #generations = new Recent<Generation>(GENERATIONS);

  constructor(context: Context) {
    this.#context = context;
  }

  see(...[event, at]: Parameters<NonNullable<Observer['see']>>): void {
    if (event.e === 'await' && event.gate === 'barrier') {
      const barrier = this.#barrier(event.k);
      barrier.open.set(event.g, { ...event, at, floor: barrier.last });
    } else if (event.e === 'passed') this.#passed(event, at);
    else if (event.e === 'stopped') this.#ended(this.#barriers.get(event.k), event.g, event.t);
    else if (event.e === 'crash') this.#died(event.p, event.t);
  }

  finish(t: number): void {
    for (const [k, { open }] of this.#barriers) {
      for (const g of open.keys()) this.#report(k, t, `${g} waits at ${k} at the end`);
    }
  }

  #passed({ k, g, t, generation, index }: Passed & Stamp, at: number): void {
    const barrier = this.#barriers.get(k);
    const arrival = barrier?.open.get(g);
    if (barrier === undefined || arrival === undefined) return;
    if (generation === undefined || index === undefined) return;
    const say = (what: string): void =>
      this.#report(k, t, `${g} passed ${k} in generation ${generation}, ${what}`);
    const name = `${k} ${generation}`;
    let known = this.#generations.get(name);
    if (known === undefined) {
      known = { indices: new Set(), at };
      const since = t - this.#context.begin.grace;
      barrier.ended = barrier.ended.filter((each) => each >= since);
      const here = barrier.open.size + barrier.ended.length;
      if (here < arrival.size) say(`for which ${here} of ${arrival.size} had arrived`);
    } else if (arrival.at > known.at) say('which had been open when it arrived');
    if (index >= arrival.size) say(`with index ${index} of ${arrival.size}`);
    if (known.indices.has(index)) say(`with index ${index}, as another one`);
    if (generation <= arrival.floor) say(`after generation ${arrival.floor}`);
    known.indices.add(index);
    this.#generations.set(name, known);
    barrier.last = Math.max(barrier.last, generation);
    barrier.open.delete(g);
  }

  #ended(barrier: Barrier | undefined, g: string, t: number): void {
    if (barrier?.open.delete(g) === true) barrier.ended.push(t);
  }

  #died(process: string, t: number): void {
    for (const barrier of this.#barriers.values()) {
      for (const { g, p } of [...barrier.open.values()]) {
        if (p === process) this.#ended(barrier, g, t);
      }
    }
  }

  #barrier(k: string): Barrier {
    const barrier = this.#barriers.get(k) ?? { last: -1, open: new Map(), ended: [] };
    this.#barriers.set(k, barrier);
    return barrier;
  }

  #report(k: string, t: number, what: string): void {
    const { begin } = this.#context;
    const isForgotten = this.#context.amnesiaT(k) + 2 * begin.ttl + begin.grace >= t;
    const excused = isForgotten ? 'amnesia' : undefined;
    this.#context.report({ check: 'barrier', t, what, concerned: [], excused });
  }
}
