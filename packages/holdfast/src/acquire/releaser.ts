/**
 * The release of a lease, and its hand-off inside the process.
 *
 *     held --release--> released, and the root goes on: the next task holds at once (no command)
 *         |--release, tasks wait, no hand-off allowed--> turn: ends the root, queues the next one
 *         \--release, no task waits--> the store frees it or grants it to the next waiter
 */
import type { TurnReply } from '../engine/commands.js';
import type { AbandonedAcquisitions } from '../cleanup/abandoned.js';
import type { ReleaseResult, ReleaseRetrier } from '../cleanup/release-retrier.js';
import { withdrawal } from '../cleanup/withdrawal.js';
import { HoldfastError } from '../errors.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import type { ReleaseOutcome } from '../lease/lease.js';
import type { SuspendDetector } from '../lease/suspend-detector.js';
import type { Watchdog } from '../lease/watchdog.js';
import type { Settings } from '../options.js';
import type { Telemetry } from '../telemetry.js';
import { quote } from '../text.js';
import type { Acquisitions } from './acquisitions.js';
import type { RootAcquisition } from './root-acquisition.js';

export interface ReleaserParts {
  readonly settings: Settings;
  readonly suspend: SuspendDetector;
  readonly telemetry: Telemetry;
  readonly watchdog: Watchdog;
  readonly retrier: ReleaseRetrier;
  readonly acquisitions: Acquisitions;
}

export class Releaser {
  readonly #settings: Settings;
  readonly #suspend: SuspendDetector;
  readonly #telemetry: Telemetry;
  readonly #watchdog: Watchdog;
  readonly #retrier: ReleaseRetrier;
  readonly #acquisitions: Acquisitions;
  readonly #abandoned: AbandonedAcquisitions;

  constructor(parts: ReleaserParts) {
    const { settings, suspend, telemetry, watchdog, retrier, acquisitions } = parts;
    this.#telemetry = telemetry;
    this.#settings = settings;
    this.#suspend = suspend;
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
      if (record.state === 'lost') this.#telemetry.warn('outlived', record);
      // the server may keep it for a little longer than this process believed in it
      const { mayBeDuplicated, terms, unpassed } = record;
      this.#abandoned.withdraw({ key, id, unpassed }, terms.ttl, mayBeDuplicated);
      return 'lost';
    }
    if (record.terms.longHold !== Infinity) this.#telemetry.released(record);
    const releasing = this.#retrier.has(id);
    this.#telemetry.releases += 1;
    const { roots } = this.#acquisitions;
    const isSure = believed && !releasing;
    if (isSure && roots.handOff(record)) return 'freed';
    if (isSure && roots.endWithGroup(record, (again) => this.#endLater(record, again))) {
      this.#leave(record);
      return 'freed';
    }
    // while it is released already, the other tasks ask anew
    const again = releasing ? undefined : roots.turn(record);
    this.#leave(record);
    return this.#ended(record, believed, await this.#send(record, again));
  }

  /** The lease is not held here any more. */
  #leave(record: LeaseRecord): void {
    record.release();
    this.#watchdog.remove(record);
  }

  /** As for a hand-off, the task that released does not learn how its root ends. */
  #endLater(record: LeaseRecord, again: RootAcquisition | undefined): void {
    this.#send(record, again)
      .then((returned) => this.#ended(record, true, returned))
      .catch(() => undefined);
  }

  /** @param believed whether the lease was certainly held when its release was sent */
  async #ended(
    record: LeaseRecord,
    believed: boolean,
    returned: ReleaseResult | undefined,
  ): Promise<ReleaseOutcome> {
    const { key, id } = record;
    if (record.mayBeDuplicated) this.#abandoned.follow({ key, id });
    const result = outcome(key, returned, believed);
    if (result === 'kept') this.#watchdog.owned.counted(record, returned?.holds ?? 0);
    if (result === 'lost' && record.reason === undefined) {
      record.foundLost((await this.#watchdog.inquiries.forced(record)) ?? 'gone');
    }
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
    return outcome(key, await this.#retrier.release({ id, command, until }), true);
  }

  /** @param again the next root of this process, which the store queues in the same step */
  #send(
    record: LeaseRecord,
    again: RootAcquisition | undefined,
  ): Promise<ReleaseResult | undefined> {
    const { key, id, unpassed } = record;
    const { requestTimeout, retention } = this.#settings;
    const until = record.endsBy + requestTimeout;
    if (again === undefined && unpassed) {
      const command = { op: 'release', key, id, unpassed, retention } as const;
      return this.#retrier.release({ id, command, until });
    }
    const command = this.#acquisitions.sender.turn(record, again);
    let sent = this.#suspend.moment();
    const attempts = (): void => {
      sent = this.#suspend.moment();
    };
    const failed = (error: unknown): void => {
      // this attempt may arrive after the withdrawal of a root that was given up
      if (again?.settled) this.#acquisitions.onLateReply(again, 'queued');
      else if (again !== undefined) this.#acquisitions.onFailure(again, error);
    };
    return this.#retrier.release({ id, command, until, attempts, failed }, (returned) => {
      if (again === undefined) return;
      const reply = returned?.reply as TurnReply | undefined;
      this.#acquisitions.sender.turned(again, command, reply?.again, sent);
    });
  }
}

function outcome(
  key: string,
  returned: ReleaseResult | undefined,
  believed: boolean,
): ReleaseOutcome {
  switch (returned?.status) {
    case 'freed':
      return 'freed';
    case 'kept':
      return 'kept';
    case 'absent':
    case 'dequeued':
      // if it was held when the release was sent, an earlier, unanswered attempt has freed it
      return returned.repeated && believed ? 'freed' : 'lost';
    case undefined: {
      const message = `Holdfast: no answer to the release of ${quote(key)}; it is retried`;
      throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key });
    }
  }
}
