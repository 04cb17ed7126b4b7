/**
 * The release of a lease, and its hand-off inside the process.
 *
 *     held --release--> released, the store frees it or grants it to the next waiter
 *         \--release with a successor here--> the successor holds at once, the store is told
 *
 * A local hand-off saves the round trip, not the command: the release names the successor, and the
 * store makes it the holder. If the store does not agree, because the lease had ended, the signal
 * of the successor's lease aborts.
 */
import type { AbandonedAcquisitions } from '../cleanup/abandoned.js';
import type { ReleaseResult, ReleaseRetrier } from '../cleanup/release-retrier.js';
import { withdrawal } from '../cleanup/withdrawal.js';
import { HoldfastError } from '../errors.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import type { ReleaseOutcome } from '../lease/lease.js';
import type { Watchdog } from '../lease/watchdog.js';
import type { Settings } from '../options.js';
import { quote } from '../text.js';
import type { Acquisitions } from './acquisitions.js';

export interface ReleaserParts {
  readonly settings: Settings;
  readonly watchdog: Watchdog;
  readonly retrier: ReleaseRetrier;
  readonly acquisitions: Acquisitions;
}

export class Releaser {
  readonly #settings: Settings;
  readonly #watchdog: Watchdog;
  readonly #retrier: ReleaseRetrier;
  readonly #acquisitions: Acquisitions;
  readonly #abandoned: AbandonedAcquisitions;

  constructor({ settings, watchdog, retrier, acquisitions }: ReleaserParts) {
    this.#settings = settings;
    this.#watchdog = watchdog;
    this.#retrier = retrier;
    this.#acquisitions = acquisitions;
    this.#abandoned = acquisitions.abandoned;
  }

  /** Releases a lease, or hands it off to the next local acquisition that may have it. */
  async release(record: LeaseRecord): Promise<ReleaseOutcome> {
    const { key, id } = record;
    const believed = this.#watchdog.believes(record);
    if (record.state !== 'held') {
      // the server may keep it for a little longer than this process believed in it
      const { mayBeDuplicated, terms, unpassed } = record;
      this.#abandoned.withdraw({ key, id, unpassed }, terms.ttl, mayBeDuplicated);
      return 'lost';
    }
    const successor = this.#successor(record, believed);
    const returning = this.#send(record, successor);
    // sent after the release that hands the lease off
    if (successor !== undefined) void this.#watchdog.claim(successor);
    const returned = await returning;
    if (record.mayBeDuplicated) this.#abandoned.follow({ key, id });
    const result = outcome(key, returned);
    if (result === 'kept') this.#watchdog.owned.counted(record, returned?.holds ?? 0);
    if (result === 'lost' && record.reason === undefined) record.foundLost('gone');
    if (returned?.status === 'absent') this.#acquisitions.revocations.foundLost(record);
    return result;
  }

  /**
   * Releases an acquisition of which this process knows the id only; another process may have made
   * it.
   * @param ms how long the store may have something to release
   */
  async end(key: string, id: string, ms: number): Promise<ReleaseOutcome> {
    const record = this.#watchdog.find(id);
    if (record !== undefined) {
      const releasing = this.release(record);
      // the holder did not release it itself: its signal aborts
      if (record.state === 'released') record.foundLost('unlocked');
      return releasing;
    }
    const { clock, requestTimeout, retention } = this.#settings;
    const until = clock.now() + ms + requestTimeout;
    const command = withdrawal({ key, id }, retention);
    return outcome(key, await this.#retrier.release({ id, command, until }));
  }

  /** Makes the next local acquisition the holder, if there is one that may be. */
  #successor(record: LeaseRecord, believed: boolean): LeaseRecord | undefined {
    const asked = !believed || this.#retrier.has(record.id);
    const queue = asked ? undefined : this.#acquisitions.queues.get(record.key);
    const next = queue?.successor(record, this.#settings.claimWindow);
    record.release();
    this.#watchdog.remove(record);
    return next && this.#acquisitions.handOff(record, next);
  }

  #send(
    record: LeaseRecord,
    successor: LeaseRecord | undefined,
  ): Promise<ReleaseResult | undefined> {
    const { key, id, unpassed } = record;
    const { requestTimeout, retention } = this.#settings;
    const until = record.endsBy + requestTimeout;
    const command = {
      op: 'release',
      key,
      id,
      to: successor?.id ?? '',
      unpassed,
      retention,
    } as const;
    const task = { id, command, until, after: record.settled };
    const settling = successor && this.#settling(successor);
    return this.#retrier.release(task, (answer) => {
      record.answered = answer !== undefined;
      settling?.(answer);
    });
  }

  /** Handles the answer of the store to a hand-off that was made locally before. */
  #settling(successor: LeaseRecord): (returned: ReleaseResult | undefined) => void {
    let settled = (): void => undefined;
    successor.settled = new Promise((resolve) => {
      settled = resolve;
    });
    return (returned) => {
      successor.settled = undefined;
      if (returned?.status === 'passed') successor.confirmed = true;
      else this.#watchdog.lose(successor, 'gone');
      // a release of the successor may have arrived before the hand-off
      if (successor.state === 'lost' || successor.answered) {
        this.#abandoned.withdraw(successor, successor.terms.ttl, true);
      }
      settled();
    };
  }
}

function outcome(key: string, returned: ReleaseResult | undefined): ReleaseOutcome {
  switch (returned?.status) {
    case 'freed':
    case 'passed':
      return 'freed';
    case 'kept':
      return 'kept';
    case 'absent':
    case 'dequeued':
      // it was held when the release was sent, so an earlier, unanswered attempt has freed it
      return returned.repeated ? 'freed' : 'lost';
    case undefined: {
      const message = `Holdfast: no answer to the release of ${quote(key)}; it is retried`;
      throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key });
    }
  }
}
