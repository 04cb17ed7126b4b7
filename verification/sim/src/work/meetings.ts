/**
 * The truth about stocks and gates, which no process may see: what is there, who counted or came,
 * and who passed.
 */
import type { BarrierResult } from '../../../../packages/holdfast/dist/index.js';

export class Stock {
  /** Only who holds the lock touches it. */
  count = 0;
  /** Nothing will come any more. */
  closed = false;
  /** A holder that was woken could not act on it, and its process gave the lock back. */
  excused = false;
}

export class Gate {
  /** Counts that were asked for; more cannot have been made. */
  asked = 0;
  readonly #generations = new Map<number, Set<number>>();

  /** What is wrong with a passage, if anything. */
  pass({ generation, index }: BarrierResult, parties: number): string | undefined {
    const passed = this.#generations.get(generation) ?? new Set();
    if (passed.has(index)) return `two are the number ${index} of ${generation}`;
    if (index < 0 || index >= parties) return `number ${index} of ${parties} parties`;
    this.#generations.set(generation, passed.add(index));
    const needed = this.#generations.size * parties;
    return needed > this.asked ? `${needed} should have come, and ${this.asked} did` : undefined;
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
