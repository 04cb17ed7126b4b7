/**
 * Who waits for a signal: the parked waiters of one resource, by condition.
 *
 *     parked --signal--> queued, signalled        (the condition is remembered with it)
 *        |\---its own wish--> queued
 *        \----withdraw, dead channel at a signal, silence for a retention--> (nothing)
 *
 * Two orders: at its condition each stands in the order in which they parked, and among all in the
 * order in which they were last heard of. A parked waiter holds nothing and is in nobody's way, so
 * unlike the queue nothing passes over the dead: what nobody asked about for a retention is dropped
 * (I9).
 */
import type { Processes } from './processes.js';
import type { Micros } from './commands.js';

/** An acquisition that waits for a signal. */
export interface Parked {
  readonly id: string;
  readonly condition: string;
  readonly owner: string;
  readonly weight: number;
  readonly ttl: number;
  readonly claim: number;
  readonly fair: boolean;
  readonly handOffs: number;
  readonly meta: string;
  /** When it was parked. */
  readonly since: Micros;
  /** When it is dropped, should nobody ask about it until then. */
  until: Micros;
  channel: string;
  /** See `Acquire.token`. */
  token: string;
}

export class Parking {
  /** Who was not heard of for longest comes first. */
  readonly #parked = new Map<string, Parked>();
  readonly #conditions = new Map<string, Set<string>>();
  readonly #processes: Processes;

  constructor(processes: Processes) {
    this.#processes = processes;
  }

  get size(): number {
    return this.#parked.size;
  }

  /** Conditions at which somebody is parked. */
  get conditions(): Iterable<string> {
    return this.#conditions.keys();
  }

  get(id: string): Parked | undefined {
    return this.#parked.get(id);
  }

  /** The first of those who parked at a condition. */
  first(condition: string): string | undefined {
    return this.#conditions.get(condition)?.values().next().value;
  }

  count(condition: string): number {
    return this.#conditions.get(condition)?.size ?? 0;
  }

  /** All of a condition, in the order in which they parked. */
  at(condition: string): readonly string[] {
    return [...(this.#conditions.get(condition) ?? [])];
  }

  /** All, who was not heard of for longest first. */
  all(): readonly Parked[] {
    return [...this.#parked.values()];
  }

  add(parked: Parked): void {
    this.#parked.set(parked.id, parked);
    this.#processes.enter(parked.id);
    const own = this.#conditions.get(parked.condition) ?? new Set();
    this.#conditions.set(parked.condition, own.add(parked.id));
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

  /** Somebody asked about it. Written down only when half its time has gone. */
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
