/**
 * The release of a lease: one question to the roots, and one object that sends the answer.
 *
 *     held --release--> passed: the next task of this process holds at once (no command)
 *         |---joined: the root ends together with the request of the group that gathers
 *         |---turned: ends the root, and queues the next one in the same step
 *         \---freed: the store frees it or grants it to the next waiter
 */
import type { ReleaseRetrier } from './cleanup/release-retrier.js';
import { withdrawal } from './cleanup/withdrawal.js';
import type { Hold } from '../lease/root.js';
import type { ReleaseOutcome } from '../lease/lease.js';
import type { SuspendDetector } from '../lease/suspend-detector.js';
import type { Watchdog } from '../lease/watchdog.js';
import type { Settings } from '../base/options.js';
import type { Telemetry } from '../observe/telemetry.js';
import type { Acquisitions } from './acquisitions.js';
import { outcome, RootEnd } from './root-end.js';

export interface ReleaserParts {
  readonly settings: Settings;
  readonly suspend: SuspendDetector;
  readonly telemetry: Telemetry;
  readonly watchdog: Watchdog;
  readonly retrier: ReleaseRetrier;
  readonly acquisitions: Acquisitions;
}

export class Releaser {
  readonly #parts: ReleaserParts;

  constructor(parts: ReleaserParts) {
    this.#parts = parts;
  }

  /** Releases a lease, or hands it off to the next local acquisition that may have it. */
  async release(hold: Hold): Promise<ReleaseOutcome> {
    const { root } = hold;
    const { acquisitions, retrier, telemetry, watchdog } = this.#parts;
    const believed = watchdog.believes(hold);
    if (hold.state !== 'held') return this.#over(hold);
    if (hold.terms.longHold !== Infinity) telemetry.released(hold);
    telemetry.releases += 1;
    const certainty = retrier.withdraws(root.id) ? 'releasing' : believed ? 'held' : 'doubted';
    const ending = acquisitions.roots.end(root, certainty);
    if (ending.how === 'passed') return 'freed';
    hold.release();
    watchdog.remove(root);
    const end = new RootEnd(this.#parts, hold, believed);
    if (ending.how === 'joined') {
      ending.group.end = end;
      return 'freed';
    }
    return end.send(ending.how === 'turned' ? ending.next : undefined);
  }

  /** A lease that this process does not hold any more. */
  #over(hold: Hold): ReleaseOutcome | Promise<ReleaseOutcome> {
    // it belongs to the store or to another process now: nothing is sent
    if (hold.state === 'left') return 'kept';
    if (hold.end !== undefined) return hold.end.again();
    if (hold.state === 'lost') this.#parts.telemetry.warn('outlived', hold);
    this.withdraw(hold);
    return 'lost';
  }

  /** The server may keep a lease for a little longer than this process believed in it. */
  withdraw({ root, terms }: Hold): void {
    const { key, id, unpassed, mayBeDuplicated } = root;
    this.#parts.acquisitions.abandoned.withdraw({ key, id, unpassed }, terms.ttl, mayBeDuplicated);
  }

  /**
   * Releases an acquisition of which this process knows the id only; another process may have made
   * it.
   * @param ms how long the store may have something to release
   */
  async end(key: string, id: string, ms: number): Promise<ReleaseOutcome> {
    const hold = this.#parts.watchdog.find(id)?.hold;
    if (hold !== undefined) {
      const releasing = this.release(hold);
      // the holder did not release it itself: its signal aborts
      if (hold.state === 'released') hold.foundLost('unlocked');
      return releasing;
    }
    const { retrier, settings } = this.#parts;
    const { clock, requestTimeout, retention } = settings;
    const until = clock.now() + ms + requestTimeout;
    const command = withdrawal({ key, id }, retention);
    return outcome(key, await retrier.release({ id, command, until }), true);
  }
}
