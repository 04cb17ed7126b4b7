import { Condition } from './condition.js';
import type { WaitOptions } from './gate-options.js';
import { placeOf, poll, stateOf } from './lock-state.js';
import { PlainMutex } from './plain-mutex.js';

/**
 * A lock with at most one holder at a time, across processes and machines. It is in the store only
 * while it is held or has waiters.
 */
export class Mutex extends PlainMutex {
  /**
   * See {@link Condition}.
   * @param name 1 to 200 characters
   */
  condition(name: string): Condition {
    return new Condition(this.acquirer.core, this.key, name);
  }

  /**
   * True if any process holds the lock. The answer may be out of date when it arrives: to act on
   * it, use `tryAcquire`. The server that the client is connected to answers, also a replica that
   * is behind. Rejects, as the following methods do, with `HOLDFAST_UNREACHABLE` if the store does
   * not answer.
   */
  async isLocked(): Promise<boolean> {
    return (await stateOf(this.acquirer.core, this.key)).holderCount > 0;
  }

  /** Ms until the present lease ends without a renewal, by the store's clock; 0 if free. */
  async timeLeft(): Promise<number> {
    return ((await stateOf(this.acquirer.core, this.key)).holders[0]?.left ?? 0) / 1000;
  }

  /**
   * The waiting acquisitions that are served before the first one of this instance; `null` if this
   * instance does not wait.
   */
  place(): Promise<number | null> {
    return placeOf(this.acquirer.core, this.key);
  }

  /**
   * Waits, without taking the lock, until it is free and no acquisition waits; false if `wait` ms
   * pass before. Asks the store four times in a claim window, and has no place in the queue.
   */
  whenFree(options: WaitOptions = {}): Promise<boolean> {
    const { core } = this.acquirer;
    return poll(core, this.key, options, (found) => found.holderCount + found.waiterCount === 0);
  }
}
