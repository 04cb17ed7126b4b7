import type { Core } from '../acquire/core.js';
import { duration, known, whole } from '../base/checks.js';
import type { GateSubject } from './gates/gate-waiter.js';
import { GatePart } from './gates/gate-part.js';
import { type WaitOptions, checkAwait } from './gate-options.js';

export interface LatchOptions {
  /** The counts that open the latch, equal for all users of the key. 1 to 100,000. */
  readonly count: number;
  /**
   * Longest time between two counts, in ms; then the latch is broken. 10 to 86,400,000; default
   * 3,600,000 (one hour). A count never shortens the time that an earlier one gave.
   */
  readonly ttl?: number | undefined;
  /**
   * Ms for which the store remembers an open or broken latch, for late callers. 1,000 to
   * 86,400,000, and at least three times the `claimWindow`; default as `ttl`. The longest of a
   * generation's countdowns counts.
   */
  readonly retention?: number | undefined;
}

const DAY = 86_400_000;
const HOUR = 3_600_000;
const COUNT_MAX = 100_000;
const LATCH = new Set<string>(['count', 'ttl', 'retention']);

/**
 * A gate that opens once, when its count reaches zero, and stays open for any number of waiters.
 */
export class Latch {
  readonly key: string;
  readonly #core: Core;
  readonly #subject: GateSubject;
  /** As last reported; 0 before the first reply. */
  #generation = 0;

  /** @internal */
  constructor(core: Core, key: string, options = {} as LatchOptions) {
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
   * Counts down by `by`, and resolves to the remaining count. The last count opens the latch and
   * wakes all waiters in all processes. On an open latch it does nothing.
   *
   * A call counts at most once, even if its request is retried or delayed, and never in a
   * generation that began after the call (more than a round trip after it, by the store's clock).
   *
   * Rejects with `HOLDFAST_BROKEN` if the latch is or was broken, also by a `reset` or `delete`
   * that reaches the store first, `HOLDFAST_MISMATCH` if the key has another count or is a barrier,
   * `HOLDFAST_UNCERTAIN` if the store does not reply and the call may have counted,
   * `HOLDFAST_UNREACHABLE`, `HOLDFAST_CLOSED` or `HOLDFAST_BAD_OPTION`.
   *
   * @param by 1 to 100,000; default 1
   */
  async countDown(by = 1): Promise<number> {
    whole('by', by, 1, 1, COUNT_MAX);
    const request = { by, waits: false, wait: Number.POSITIVE_INFINITY, signal: undefined };
    const generation = this.#generation;
    const gates = this.#core.part(GatePart);
    const result = await gates.enter(this.#subject, { ...request, generation });
    this.#generation = result.current;
    return result.rank < 0 ? 0 : result.rank;
  }

  /**
   * Waits until the latch is open: without a limit, or for `wait` ms (with 0 it checks once).
   *
   * Cancellation: if `signal` aborts or the wait ends, the waiter is removed; the count is
   * unchanged.
   *
   * Rejects with `HOLDFAST_TIMEOUT`, `HOLDFAST_ABORTED`, with `HOLDFAST_BROKEN` if there was no
   * count for `ttl` ms, the latch was reset, or the store forgot it; and as `countDown` does.
   */
  async await(options: WaitOptions = {}): Promise<void> {
    const request = { by: 0, waits: true, generation: 0, ...checkAwait(options) };
    const gates = this.#core.part(GatePart);
    const result = await gates.enter(this.#subject, request);
    this.#generation = result.current;
  }

  /**
   * The remaining count, by one read-only request: 0 if open, the full count if unused. Rejects
   * with `HOLDFAST_BROKEN`, and with `HOLDFAST_MISMATCH` if the latch has another count.
   */
  async count(): Promise<number> {
    return this.#core.part(GatePart).commands.missing(this.#subject);
  }

  /**
   * Begins a new generation without the counts of the current one, whose waiters are rejected with
   * `HOLDFAST_BROKEN`, unless it is open. Two simultaneous resets may begin only one. Rejects with
   * `HOLDFAST_MISMATCH` if the latch has another count (`delete` it to change it), and without a
   * reply with `HOLDFAST_UNREACHABLE`, or `HOLDFAST_UNCERTAIN` if it may be reset.
   */
  async reset(): Promise<void> {
    const { commands } = this.#core.part(GatePart);
    const { current, fate } = await commands.look(this.#subject);
    if (fate === 'unknown') return;
    this.#generation = (await commands.endGeneration(this.#subject, current, 'reset')).current;
  }

  /**
   * Deletes the latch; its waiters are rejected with `HOLDFAST_BROKEN`, unless it is open. The key
   * is then unused: the next call creates a latch with its own count, or a barrier. Late callers of
   * an open latch wait again. Two simultaneous deletions delete once. Rejects as `reset` does, but
   * accepts another count.
   */
  async delete(): Promise<void> {
    const { commands } = this.#core.part(GatePart);
    const { current, fate } = await commands.lookAtAny(this.#subject);
    if (fate === 'unknown') return;
    const { retention, unreachableAfter } = this.#core.settings;
    // longer than a count may be repeated
    const longest = Math.ceil(retention + unreachableAfter);
    const subject = { ...this.#subject, count: 0, ttl: 0, retention: longest };
    await commands.endGeneration(subject, current, 'deleted');
    this.#generation = 0;
  }
}
