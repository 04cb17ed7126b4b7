/**
 * The requests of the watchdog about one lease: to extend it, and to read its standing.
 *
 * The time in an answer is counted from before its request was sent (I7). If the machine was
 * suspended after the request was sent, the answer has no meaning, and the request is repeated.
 */
import type { Micros, Renew, RenewReply } from '../engine/commands.js';
import { StoreFailure } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import { drift, type LeaseRecord, withDrift } from './lease-record.js';
import type { Moment, SuspendDetector } from './suspend-detector.js';

/**
 * The shortest time to wait for an answer, and the shortest pause between two requests for a lease.
 */
export const RETRY_MS_MIN = 5;

export interface InquiryEvents {
  /** Called before an answer is converted to the local clock. */
  noticeSleep(): void;
  /** The store has reported how long a lease lasts. */
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
   * Extends a lease to at least `ms` from now. Resolves to the answer of the store; rejects without
   * one.
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

  /** Reads the standing of a lease, and changes nothing. Rejects if the store did not answer. */
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

  /**
   * Sends a renewal, and counts it as unanswered until its answer. A late answer extends the lease
   * too.
   */
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
   * Handles the remaining time of a lease in an answer. Returns false if the machine was suspended
   * after the request was sent; the request has to be repeated.
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

/** How long to wait for an answer: it is useful while the lease lasts, and a retry follows soon. */
function patience(record: LeaseRecord, sent: Moment): number {
  return Math.max(RETRY_MS_MIN, Math.min(record.validUntil - sent.at, record.terms.ttl / 3));
}
