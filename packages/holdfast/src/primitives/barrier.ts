import type { Core } from '../acquire/core.js';
import { duration, known, whole } from '../base/checks.js';
import type { GateSubject } from './gates/gate-waiter.js';
import { GatePart } from './gates/gate-part.js';
import { type WaitOptions, checkAwait } from './gate-options.js';

export interface BarrierOptions {
  /** How many must arrive, equal for all users of the key. 1 to 10,000. */
  readonly parties: number;
  /**
   * Ms after which a silent party, for example a crashed one, counts as dead. Range and default are
   * those of `HoldfastOptions.ttl`.
   */
  readonly ttl?: number | undefined;
}

/** One opening of a barrier, as one party sees it. */
export interface BarrierResult {
  /** Greater than all earlier ones of the key. */
  readonly generation: number;
  /** The order of arrival, from 0 to `parties - 1`. */
  readonly index: number;
}

const DAY = 86_400_000;
const PARTIES_MAX = 10_000;
const BARRIER = new Set<string>(['parties', 'ttl']);

/** A point at which a fixed number of parties wait for each other, any number of times. */
export class Barrier {
  readonly key: string;
  readonly parties: number;
  readonly #core: Core;
  readonly #subject: GateSubject;
  /** As last reported; 0 before the first reply. */
  #generation = 0;

  /** @internal */
  constructor(core: Core, key: string, options = {} as BarrierOptions) {
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
   * Waits until all parties have arrived. A caller in excess of `parties` waits in the next
   * generation. With a `wait` of 0 only the last party passes; another one times out, which breaks
   * the generation.
   *
   * A waiting party breaks its generation if it dies, is frozen for longer than its `ttl`, times
   * out, aborts or closes. All others are rejected with `HOLDFAST_BROKEN`: at once if the party
   * could report it, otherwise within its `ttl` after its last message, plus one round trip. So are
   * a frozen party that resumes, and a call whose generation broke before it arrived. The next
   * generation starts by itself.
   *
   * Cancellation: if `signal` aborts or the wait ends, the call rejects at once and breaks the
   * generation in the background. If it opens at the same moment, the others continue.
   *
   * Rejects with `HOLDFAST_TIMEOUT`, `HOLDFAST_ABORTED`, `HOLDFAST_BROKEN`, `HOLDFAST_MISMATCH`
   * (the key has another number of parties or is a latch), `HOLDFAST_UNREACHABLE`,
   * `HOLDFAST_CLOSED`, `HOLDFAST_BAD_OPTION`, and with `HOLDFAST_UNCERTAIN` if replies were lost
   * for so long that the store forgot whether it counted this party.
   */
  async await(options: WaitOptions = {}): Promise<BarrierResult> {
    const request = { by: 1, waits: true, generation: this.#generation, ...checkAwait(options) };
    const gates = this.#core.part(GatePart);
    const { generation, rank, current } = await gates.enter(this.#subject, request);
    this.#generation = current;
    return { generation, index: this.parties - 1 - rank };
  }

  /**
   * The number of parties that wait now, by one read-only request. Rejects with `HOLDFAST_MISMATCH`
   * if they wait for another number.
   */
  async waiting(): Promise<number> {
    const { commands } = this.#core.part(GatePart);
    // a store without arrivals has an earlier caller's number
    const { fate, count, missing } = await commands.look(this.#subject);
    return fate === 'closed' ? count - missing : 0;
  }

  /**
   * Breaks the current generation with `HOLDFAST_BROKEN`; the next one begins. Rejects with
   * `HOLDFAST_MISMATCH` if other parties wait, and without a reply as `Latch.reset` does.
   */
  async reset(): Promise<void> {
    const { commands } = this.#core.part(GatePart);
    const { current, fate } = await commands.look(this.#subject);
    if (fate === 'unknown') return;
    this.#generation = (await commands.endGeneration(this.#subject, current, 'reset')).current;
  }
}
