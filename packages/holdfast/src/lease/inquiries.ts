/**
 * What the keeper asks the store about one lease: to extend it, and how it stands.
 *
 * An answer counts from before its request was sent (I7). One to a request from before the machine
 * slept tells nothing, and the request is repeated.
 */
import type { Micros, Renew, RenewReply } from '../engine/commands.js';
import { StoreFailure } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import { drift, type LeaseRecord, withDrift } from './lease-record.js';
import type { Moment, SuspendDetector } from './suspend-detector.js';

/** Shortest time in which an answer is waited for, and between two requests for a lease. */
export const RETRY_MS_MIN = 5;

export interface InquiryEvents {
  /** To be called before an answer is counted from a moment. */
  noticeSleep(): void;
  /** The store has said how long a lease lasts. */
  confirmed(record: LeaseRecord): void;
}

export class Inquiries {
  readonly #requests: Requests;
  readonly #suspend: SuspendDetector;
  readonly #retention: number;
  readonly #events: InquiryEvents;

  constructor(
    requests: Requests,
    suspend: SuspendDetector,
    retention: number,
    events: InquiryEvents,
  ) {
    this.#requests = requests;
    this.#suspend = suspend;
    this.#retention = retention;
    this.#events = events;
  }

  /**
   * Extends a lease to at least `ms` from now. Resolves to what the store answered; rejects if it
   * did not.
   */
  async renew(record: LeaseRecord, ms: number): Promise<RenewReply['status']> {
    const { key, id } = record;
    const retention = this.#retention;
    for (;;) {
      const sent = this.#suspend.moment();
      const length = Math.ceil(Math.min(ms, withDrift(record.holdUntil - sent.at)));
      const command = { op: 'renew', key, id, ttl: Math.max(1, length), retention } as const;
      const reply = await this.#send(record, command, sent);
      if (reply.status === 'absent' || this.#confirm(record, sent, reply.left)) return reply.status;
    }
  }

  /** See `Requests.written`. */
  written(): Promise<void> | undefined {
    return this.#requests.written();
  }

  /** Asks how a lease stands, and changes nothing. Rejects if the store did not answer. */
  async standing(record: LeaseRecord): Promise<'granted' | 'absent'> {
    const { key, id } = record;
    const retention = this.#retention;
    const command = { op: 'poll', key, ids: [id], patience: 0, retention } as const;
    for (;;) {
      const sent = this.#suspend.moment();
      const reply = await this.#requests.send(command, undefined, patience(record, sent));
      const [standing] = reply.standings;
      if (standing?.status !== 'granted') return 'absent';
      if (this.#confirm(record, sent, standing.left)) return 'granted';
    }
  }

  /** Sends a renewal, and counts it until it is answered. A late answer extends the lease too. */
  async #send(record: LeaseRecord, command: Renew, sent: Moment): Promise<RenewReply> {
    const late = (reply: RenewReply): void => {
      record.unanswered -= 1;
      if (reply.status === 'renewed') this.#confirm(record, sent, reply.left);
    };
    record.unanswered += 1;
    try {
      const reply = await this.#requests.send(command, late, patience(record, sent));
      record.unanswered -= 1;
      return reply;
    } catch (error) {
      if (error instanceof StoreFailure && error.answered) record.unanswered -= 1;
      throw error;
    }
  }

  /**
   * The store said that a lease has so much left. False if that tells nothing, as it was asked
   * before the machine slept: it has to be asked again.
   */
  #confirm(record: LeaseRecord, sent: Moment, left: Micros): boolean {
    this.#events.noticeSleep();
    const sentAt = this.#suspend.toLocal(sent);
    if (sentAt === Number.NEGATIVE_INFINITY && record.state === 'held') return false;
    record.confirm(sentAt + left / 1000 - drift(left / 1000));
    this.#events.confirmed(record);
    return true;
  }
}

/** How long to wait for an answer: it is of use while the lease lasts, and asked for again soon. */
function patience(record: LeaseRecord, sent: Moment): number {
  return Math.max(RETRY_MS_MIN, Math.min(record.validUntil - sent.at, record.terms.ttl / 3));
}
