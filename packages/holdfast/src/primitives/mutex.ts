/** The mutex with conditions. */
import { Condition } from './condition.js';
import { PlainMutex } from './plain-mutex.js';

/**
 * A lock with at most one holder at a time, across processes and machines.
 *
 * Creating this object sends no request: the lock exists in the store only while it is held or has
 * waiters.
 */
export class Mutex extends PlainMutex {
  /**
   * A condition of this mutex: a holder waits at it until another holder signals.
   * @param name 1 to 200 characters; the same name is the same condition, in every process
   */
  condition(name: string): Condition {
    return new Condition(this.acquirer.core, this.key, name);
  }
}
