/**
 * What the keeper asks the store about one lease: to extend it, and how it stands.
 *
 * An answer counts from before its request was sent (I7). One to a request from before the machine
 * slept tells nothing, and the request is repeated.
 */
import type { Micros, Renew, RenewReply } from '../engine/types.js';
import { StoreFailure } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import { drift, type Grip, withDrift } from './grip.js';
import type { Moment, Sleep } from './sleep.js';

/** Shortest time in which an answer is waited for, and between two requests for a lease. */
export const RETRY_MS_MIN = 5;

export interface InquiryEvents {
  /** To be called before an answer is counted from a moment. */
  noticeSleep(): void;
  /** The store has said how long a lease lasts. */
  confirmed(grip: Grip): void;
}

export class Inquiries {
  readonly #requests: Requests;
  readonly #sleep: Sleep;
  readonly #retention: number;
  readonly #events: InquiryEvents;

  constructor(requests: Requests, sleep: Sleep, retention: number, events: InquiryEvents) {
    this.#requests = requests;
    this.#sleep = sleep;
    this.#retention = retention;
    this.#events = events;
  }

  /**
   * Extends a lease to at least `ms` from now. Resolves to what the store answered; rejects if it
   * did not.
   */
  async renew(grip: Grip, ms: number): Promise<RenewReply['status']> {
    const { key, id } = grip;
    const retention = this.#retention;
    for (;;) {
      const sent = this.#sleep.moment();
      const length = Math.ceil(Math.min(ms, withDrift(grip.holdUntil - sent.at)));
      const command = { op: 'renew', key, id, ttl: Math.max(1, length), retention } as const;
      const reply = await this.#send(grip, command, sent);
      if (reply.status === 'absent' || this.#confirm(grip, sent, reply.left)) return reply.status;
    }
  }

  /** See `Requests.written`. */
  written(): Promise<void> | undefined {
    return this.#requests.written();
  }

  /** Asks how a lease stands, and changes nothing. Rejects if the store did not answer. */
  async standing(grip: Grip): Promise<'granted' | 'absent'> {
    const { key, id } = grip;
    const retention = this.#retention;
    const command = { op: 'poll', key, ids: [id], patience: 0, retention } as const;
    for (;;) {
      const sent = this.#sleep.moment();
      const reply = await this.#requests.send(command, undefined, patience(grip, sent));
      const [standing] = reply.standings;
      if (standing?.status !== 'granted') return 'absent';
      if (this.#confirm(grip, sent, standing.left)) return 'granted';
    }
  }

  /** Sends a renewal, and counts it until it is answered. A late answer extends the lease too. */
  async #send(grip: Grip, command: Renew, sent: Moment): Promise<RenewReply> {
    const late = (reply: RenewReply): void => {
      grip.unanswered -= 1;
      if (reply.status === 'renewed') this.#confirm(grip, sent, reply.left);
    };
    grip.unanswered += 1;
    try {
      const reply = await this.#requests.send(command, late, patience(grip, sent));
      grip.unanswered -= 1;
      return reply;
    } catch (error) {
      if (error instanceof StoreFailure && error.answered) grip.unanswered -= 1;
      throw error;
    }
  }

  /**
   * The store said that a lease has so much left. False if that tells nothing, as it was asked
   * before the machine slept: it has to be asked again.
   */
  #confirm(grip: Grip, sent: Moment, left: Micros): boolean {
    this.#events.noticeSleep();
    const sentAt = this.#sleep.told(sent);
    if (sentAt === Number.NEGATIVE_INFINITY && grip.state === 'held') return false;
    grip.confirm(sentAt + left / 1000 - drift(left / 1000));
    this.#events.confirmed(grip);
    return true;
  }
}

/** How long to wait for an answer: it is of use while the lease lasts, and asked for again soon. */
function patience(grip: Grip, sent: Moment): number {
  return Math.max(RETRY_MS_MIN, Math.min(grip.validUntil - sent.at, grip.terms.ttl / 3));
}
