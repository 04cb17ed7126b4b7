/**
 * The parked waiters of one resource, by condition.
 *
 *     parked --signal--> queued, signalled        (it remembers the condition)
 *        |\---wants the permits--> queued
 *        \----withdraw, dead channel at a signal, not polled for a retention--> (nothing)
 *
 * There are two orders: at a condition, by time of parking; among all, by the last poll. A parked
 * waiter holds nothing and blocks no other, so serving never detects its death; it is dropped when
 * it was not polled for `retention` (I9).
 */
import type { Processes } from './processes.js';
import type { Micros } from './commands.js';

export interface Parked {
  readonly id: string;
  readonly condition: string;
  readonly owner: string;
  readonly weight: number;
  readonly ttl: number;
  readonly claim: number;
  readonly fair: boolean;
  readonly meta: string;
  readonly since: Micros;
  until: Micros;
  channel: string;
  token: string;
}

export class Parking {
  readonly #parked = new Map<string, Parked>();
  readonly #conditions = new Map<string, Set<string>>();
  readonly #processes: Processes;

  constructor(processes: Processes) {
    this.#processes = processes;
  }

  get size(): number {
    return this.#parked.size;
  }

  get conditions(): Iterable<string> {
    return this.#conditions.keys();
  }

  get(id: string): Parked | undefined {
    return this.#parked.get(id);
  }

  first(condition: string): string | undefined {
    return this.#conditions.get(condition)?.values().next().value;
  }

  count(condition: string): number {
    return this.#conditions.get(condition)?.size ?? 0;
  }

  at(condition: string): readonly string[] {
    return [...(this.#conditions.get(condition) ?? [])];
  }

  all(): readonly Parked[] {
    return [...this.#parked.values()];
  }

  add(parked: Parked): void {
    this.#parked.set(parked.id, parked);
    this.#processes.enter(parked.id);
    const own = this.#conditions.get(parked.condition) ?? new Set();
    this.#conditions.set(parked.condition, own.add(parked.id));
  }

  restore(parked: readonly Parked[]): void {
    for (const one of [...parked].sort((a, b) => a.since - b.since)) this.add(one);
    for (const one of parked) {
      this.#parked.delete(one.id);
      this.#parked.set(one.id, one);
    }
  }

  remove(id: string): Parked | undefined {
    const parked = this.#parked.get(id);
    if (parked === undefined) return undefined;
    this.#parked.delete(id);
    this.#processes.leave(id);
    const own = this.#conditions.get(parked.condition) as Set<string>;
    own.delete(id);
    if (own.size === 0) this.#conditions.delete(parked.condition);
    return parked;
  }

  /** Writes only after half of the retention. */
  hear(id: string, now: Micros, retention: number): void {
    const parked = this.#parked.get(id);
    if (parked === undefined || parked.until - now >= retention * 500) return;
    parked.until = now + retention * 1000;
    this.#parked.delete(id);
    this.#parked.set(id, parked);
  }

  dropSilent(now: Micros, limit: number): void {
    for (let count = 0; count < limit; count++) {
      const [oldest] = this.#parked.values();
      if (oldest === undefined || oldest.until > now) return;
      this.remove(oldest.id);
    }
  }
}
