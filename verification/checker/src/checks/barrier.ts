/**
 * A generation of a barrier has as many parties as the size of the barrier. All of them arrive
 * before the first of them passes.
 *
 *  - The indices of the parties of a generation are different and smaller than the size.
 *  - Each party of a generation calls before the first party learns that the generation is open.
 *  - When the first party passes, as many parties have arrived as the size. A call that has failed,
 *    or belongs to a dead process, counts for `grace`: the store may have counted it.
 *  - Generations grow: a call that begins after a generation is known to be open passes with a
 *    greater generation.
 *  - No call is open at the end, unless its process has died.
 *
 * A store that has lost its memory may open a generation a second time, and count a party from
 * before the loss as waiting. This is excused for two ttl and `grace`.
 */
import type { Await, Passed, Stamp } from '../format.js';
import type { Check, Context, Observer } from '../run-checks.js';
import { Recent } from '../recent.js';

interface Arrival extends Await, Stamp {
  readonly at: number;
  /** The greatest generation that was known to be open at the call. */
  readonly floor: number;
}

interface Generation {
  readonly indices: Set<number>;
  /** The position at which its first party passed. */
  readonly at: number;
}

interface Barrier {
  last: number;
  readonly open: Map<string, Arrival>;
  /** Times at which calls ended without passing. */
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
      for (const g of open.keys()) this.#report(k, t, `${g} still waits at ${k} at the end`);
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
      if (here < arrival.size) say(`but only ${here} of ${arrival.size} parties had arrived`);
    } else if (arrival.at > known.at) say('but arrived after that generation was open');
    if (index >= arrival.size) say(`but index ${index} is not below ${arrival.size}`);
    if (known.indices.has(index)) say(`but another party has index ${index} too`);
    if (generation <= arrival.floor) say(`but generation ${arrival.floor} was open before`);
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
