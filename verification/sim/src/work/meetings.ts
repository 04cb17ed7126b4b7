/**
 * The true state of stocks and gates, hidden from the processes: items, counts, arrivals and
 * passages.
 */
import type { BarrierResult } from '../../../../packages/holdfast/dist/index.js';

export class Stock {
  /** Only the holder of the lock changes it. */
  count = 0;
  /** No further items will be added. */
  closed = false;
  /** A woken holder could not act on the signal, and its process released the lock. */
  excused = false;
}

export class Gate {
  /** Requested counts; the real number cannot be larger. */
  asked = 0;
  readonly #generations = new Map<number, Set<number>>();

  /** Describes the violation of a passage; `undefined` if there is none. */
  pass({ generation, index }: BarrierResult, parties: number): string | undefined {
    const passed = this.#generations.get(generation) ?? new Set();
    if (passed.has(index)) return `two parties have index ${index} of generation ${generation}`;
    if (index < 0 || index >= parties) return `index ${index} with ${parties} parties`;
    this.#generations.set(generation, passed.add(index));
    const needed = this.#generations.size * parties;
    return needed > this.asked ? `${needed} arrivals needed, ${this.asked} made` : undefined;
  }
}

export class Meetings {
  readonly #stocks = new Map<string, Stock>();
  readonly #gates = new Map<string, Gate>();

  stock(key: string): Stock {
    const stock = this.#stocks.get(key) ?? new Stock();
    this.#stocks.set(key, stock);
    return stock;
  }

  gate(key: string): Gate {
    const gate = this.#gates.get(key) ?? new Gate();
    this.#gates.set(key, gate);
    return gate;
  }
}
