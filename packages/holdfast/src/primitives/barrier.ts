/**
 * The cyclic barrier: parties wait for each other, go on together, and may meet again. A thin face:
 * what is counted and what breaks is decided in `engine/gate.ts`, and who waits is looked after in
 * `waiting/gate-room.ts`.
 */
import type { Core } from '../core.js';
import { duration, known, whole } from '../checks.js';
import type { GateSubject } from '../gates/gate-waiter.js';
import { type WaitOptions, checkAwait } from './gate-options.js';

/** What a barrier is made with. All who use its key must name the same number of parties. */
export interface BarrierOptions {
  /** How many meet. 1 to 10,000. */
  readonly parties: number;
  /**
   * Ms for which a party that waits may be silent before the others are told that it is gone: the
   * bound of what a crash costs. See `HoldfastOptions.ttl` for range and default.
   */
  readonly ttl?: number;
}

/** A meeting that came about. */
export interface BarrierResult {
  /** The number of the generation: greater than all earlier ones of the key. */
  readonly generation: number;
  /** The order of arrival, from 0; the last one to come has `parties - 1`. */
  readonly index: number;
}

const DAY = 86_400_000;
const PARTIES_MAX = 10_000;
const BARRIER = new Set<string>(['parties', 'ttl']);

/** A place where a number of parties meet, again and again. */
export class Barrier {
  /** What it is called. */
  readonly key: string;
  /** How many meet. */
  readonly parties: number;
  readonly #core: Core;
  readonly #subject: GateSubject;
  /** The generation that was heard of last, 0 before. */
  #generation = 0;

  /** @internal */
  constructor(core: Core, key: string, options: BarrierOptions) {
    known('options', options, BARRIER);
    const { settings } = core;
    const count = whole('parties', options.parties ?? null, 0, 1, PARTIES_MAX);
    const ttl = Math.ceil(duration('ttl', options.ttl, settings.ttl, 10, DAY));
    this.key = key;
    this.parties = count;
    this.#core = core;
    this.#subject = { key, kind: 'barrier', count, ttl, retention: settings.retention };
  }

  /**
   * Waits until as many have arrived as there are parties. All of them go on then, and the barrier
   * is ready for the next generation. A caller more than there are parties waits for the next one.
   *
   * A party that waits and dies, is frozen for longer than its `ttl`, times out, aborts or closes
   * breaks its generation: all others are told `HOLDFAST_BROKEN`, at once if it could say so, and
   * within its `ttl` (counted from when it was heard of last) and a round trip otherwise. A frozen
   * party that wakes up is told so as well. The next generation begins clean, by itself.
   *
   * Cancellation: a `signal` that aborts, or a wait that ends, rejects at once and breaks the
   * generation behind it. Should it have opened in that very moment, the others go on.
   *
   * Rejects with `HOLDFAST_TIMEOUT`, `HOLDFAST_ABORTED`, `HOLDFAST_BROKEN`, `HOLDFAST_MISMATCH`
   * (the key is used with other parties or as a latch), `HOLDFAST_UNREACHABLE`, `HOLDFAST_CLOSED`,
   * `HOLDFAST_BAD_OPTION`, and with `HOLDFAST_UNCERTAIN` if answers were lost for so long that the
   * store does not remember whether it was counted.
   */
  async await(options: WaitOptions = {}): Promise<BarrierResult> {
    const wish = { by: 1, waits: true, generation: this.#generation, ...checkAwait(options, 1) };
    const { generation, rank, current } = await this.#core.gates.enter(this.#subject, wish);
    this.#generation = current;
    return { generation, index: this.parties - 1 - rank };
  }

  /** How many wait now. Asks and changes nothing. */
  async waiting(): Promise<number> {
    const { fate, left } = await this.#core.gateCommands.look(this.#subject);
    return fate === 'closed' ? Math.max(0, this.parties - left) : 0;
  }

  /**
   * Breaks the present generation: those who wait are told `HOLDFAST_BROKEN`, and the next one
   * begins. Rejects with `HOLDFAST_UNCERTAIN` without an answer.
   */
  async reset(): Promise<void> {
    const { gateCommands } = this.#core;
    const { current } = await gateCommands.look(this.#subject);
    if (current === 0) return;
    this.#generation = (await gateCommands.turn(this.#subject, current, 'reset')).current;
  }
}
