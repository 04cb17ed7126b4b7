/**
 * The count-down latch: a gate that opens once, when it has been counted down to zero, and stays
 * open. A thin face: what is counted and what breaks is decided in `engine/gate.ts`, and who waits
 * is looked after in `waiting/gate-room.ts`.
 */
import type { Core } from '../core.js';
import { duration, known, whole } from '../checks.js';
import { broken } from '../gates/gate-failures.js';
import type { GateSubject } from '../gates/gate-waiter.js';
import { type WaitOptions, checkAwait } from './gate-options.js';

/** What a latch is made with. All who use its key must name the same count. */
export interface LatchOptions {
  /** How often it must be counted down. 1 to 100,000. */
  readonly count: number;
  /**
   * Ms that it waits for the next count; it is broken then. 10 to 86,400,000; default 3,600,000 (an
   * hour).
   */
  readonly ttl?: number;
  /**
   * Ms that it stays open, or broken, for those who come late; it is forgotten then. 1,000 to
   * 86,400,000, and three times the `claimWindow` at least; default as `ttl`.
   */
  readonly retention?: number;
}

const DAY = 86_400_000;
const HOUR = 3_600_000;
const COUNT_MAX = 100_000;
const LATCH = new Set<string>(['count', 'ttl', 'retention']);

/** A gate that any number of callers wait at until it has been counted down to zero. */
export class Latch {
  /** What it is called. */
  readonly key: string;
  readonly #core: Core;
  readonly #subject: GateSubject;
  /** The generation that was heard of last, 0 before. */
  #generation = 0;

  /** @internal */
  constructor(core: Core, key: string, options: LatchOptions) {
    known('options', options, LATCH);
    const count = whole('count', options.count ?? null, 0, 1, COUNT_MAX);
    const ttl = Math.ceil(duration('ttl', options.ttl, HOUR, 10, DAY));
    const shortest = Math.max(1000, 3 * core.settings.claimWindow);
    const usual = Math.max(shortest, ttl);
    const retention = Math.ceil(duration('retention', options.retention, usual, shortest, DAY));
    this.key = key;
    this.#core = core;
    this.#subject = { key, kind: 'latch', count, ttl, retention };
  }

  /**
   * Counts down by `by`, and resolves to what is left. The last count opens the latch, and wakes
   * all who wait in all processes. Counting down an open latch does nothing.
   *
   * A call counts once, however often its request had to be repeated, and never in a generation
   * that began after it: a `reset` that comes between two tries makes it count for nothing.
   *
   * Rejects with `HOLDFAST_BROKEN` if the latch is broken, `HOLDFAST_MISMATCH` if the key is in use
   * with another count or as a barrier, `HOLDFAST_UNCERTAIN` without an answer (it may have
   * counted), `HOLDFAST_UNREACHABLE`, `HOLDFAST_CLOSED` or `HOLDFAST_BAD_OPTION`.
   *
   * @param by 1 to 100,000; default 1
   */
  async countDown(by = 1): Promise<number> {
    whole('by', by, 1, 1, COUNT_MAX);
    const wish = { by, waits: false, wait: Number.POSITIVE_INFINITY, signal: undefined };
    const generation = this.#generation;
    const passage = await this.#core.gates.enter(this.#subject, { ...wish, generation });
    this.#generation = passage.current;
    return passage.rank < 0 ? 0 : passage.rank;
  }

  /**
   * Waits until the latch is open: for as long as it takes, or for `wait` ms (0 asks once).
   * Resolves at once if it is open already.
   *
   * Cancellation: a `signal` that aborts, or a wait that ends, leaves nothing behind.
   *
   * Rejects with `HOLDFAST_TIMEOUT`, `HOLDFAST_ABORTED`, with `HOLDFAST_BROKEN` when nothing
   * counted it down for its `ttl`, or it was reset, or forgotten; and as `countDown` does.
   */
  async await(options: WaitOptions = {}): Promise<void> {
    const wish = { by: 0, waits: true, generation: 0, ...checkAwait(options, 0) };
    const passage = await this.#core.gates.enter(this.#subject, wish);
    this.#generation = passage.current;
  }

  /**
   * What is left to count down: 0 when it is open. Of a latch that nobody has used, the count. Asks
   * and changes nothing. Rejects with `HOLDFAST_BROKEN` if it is broken.
   */
  async count(): Promise<number> {
    const found = await this.#core.gateCommands.look(this.#subject);
    if (found.fate === 'broken') throw broken('latch', this.key, found.reason);
    return found.fate === 'unknown' ? this.#subject.count : found.left;
  }

  /**
   * Begins a new generation, with the count of this object. Those who wait for the present one are
   * told `HOLDFAST_BROKEN`, unless it is open; what was counted for it counts no more. Two resets
   * at the same time may be one. Rejects with `HOLDFAST_UNCERTAIN` without an answer.
   */
  async reset(): Promise<void> {
    const { gateCommands } = this.#core;
    const { current } = await gateCommands.look(this.#subject);
    if (current === 0) return;
    this.#generation = (await gateCommands.turn(this.#subject, current, 'reset')).current;
  }
}
