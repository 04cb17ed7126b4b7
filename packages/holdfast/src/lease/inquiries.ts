/**
 * The requests of the watchdog about one lease: to extend it, and to read its standing.
 *
 * The time in an answer is counted from before its request was sent (I7). If the machine was
 * suspended after the request was sent, the answer has no meaning, and the request is repeated.
 */
import type { Micros, Renew, RenewManyReply, RenewReply } from '../engine/commands.js';
import { StoreFailure, UNANSWERED } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import { drift, type LeaseRecord, withDrift } from './lease-record.js';
import type { RenewMessage } from '../messages.js';
import { isOn, RENEW, type Telemetry, traced } from '../telemetry.js';
import type { LossReason } from './loss.js';
import { markerKey } from '../marker-key.js';
import type { Moment, SuspendDetector } from './suspend-detector.js';

/**
 * The shortest time to wait for an answer, and the shortest pause between two requests for a lease.
 */
export const RETRY_MS_MIN = 5;

/** The part of the ttl for which a renewal waits for its answer: retries follow before the end. */
export const RENEWAL_WAITS: number = 1 / 6;
/** The same for a call of the holder. */
const CALL_WAITS = 1 / 3;
/** The longest time in ms to ask why a lease has ended. */
const FORCED_MS = 200;
/** A renewal that is later than that may be worth a warning. */
const LATE_MS_MIN = 50;

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
  readonly #telemetry: Telemetry;
  readonly #events: InquiryEvents;

  constructor(
    requests: Requests,
    suspend: SuspendDetector,
    telemetry: Telemetry,
    events: InquiryEvents,
  ) {
    this.#requests = requests;
    this.#suspend = suspend;
    this.#retention = telemetry.settings.retention;
    this.#telemetry = telemetry;
    this.#events = events;
  }

  /**
   * Extends a lease to at least `ms` from now. Resolves to the answer of the store; rejects without
   * one.
   * @param wait the part of the ttl to wait for an answer, if it is to be repeated without one
   */
  renew(record: LeaseRecord, ms: number, wait: number = CALL_WAITS): Promise<RenewReply['status']> {
    const count = (status: RenewReply['status']): number => (status === 'renewed' ? 1 : 0);
    return this.#watched([record], ms, () => this.#renew(record, ms, wait), count);
  }

  async #renew(record: LeaseRecord, ms: number, wait: number): Promise<RenewReply['status']> {
    const { key, id } = record;
    const retention = this.#retention;
    for (;;) {
      const sent = this.#suspend.moment();
      const length = Math.ceil(Math.min(ms, withDrift(record.holdUntil - sent.at)));
      const command = { op: 'renew', key, id, ttl: Math.max(1, length), retention } as const;
      const reply = await this.#send(record, command, sent, wait);
      try {
        if (reply.status === 'absent' || this.#confirm(record, sent, reply.left)) {
          return reply.status;
        }
      } finally {
        record.latest.unanswered -= 1;
      }
    }
  }

  /**
   * Extends several leases with one command. Resolves to the reply, or to `undefined` if the
   * machine was suspended after the request was sent; the request has to be repeated. Rejects
   * without a reply.
   */
  renewMany(records: readonly LeaseRecord[], ttl: number): Promise<RenewManyReply | undefined> {
    const count = (reply?: RenewManyReply): number => {
      let renewed = 0;
      for (const left of reply?.left ?? []) if (left > 0) renewed += 1;
      return renewed;
    };
    return this.#watched(records, ttl, () => this.#renewMany(records, ttl), count);
  }

  async #renewMany(
    records: readonly LeaseRecord[],
    ttl: number,
  ): Promise<RenewManyReply | undefined> {
    const sent = this.#suspend.moment();
    const reply = await this.#sendMany(records, ttl, sent);
    const { left } = reply;
    this.#events.noticeSleep();
    const now = this.#telemetry.clock.now();
    const sentAt = this.#suspend.toLocal(sent, now);
    const suspended = sentAt === Number.NEGATIVE_INFINITY;
    for (let index = 0; index < records.length; index++) {
      const record = records[index] as LeaseRecord;
      const micros = left[index] as number;
      const ms = micros / 1000;
      if (ms > 0 && !suspended) record.confirm(sentAt + ms - drift(ms), now);
      if (micros !== UNANSWERED) record.latest.unanswered -= 1;
    }
    return suspended ? undefined : reply;
  }

  /** Counts and reports renewals, and looks for leases that are held for long. */
  async #watched<T>(
    records: readonly LeaseRecord[],
    ttl: number,
    renew: () => Promise<T>,
    count: (reply: T) => number,
  ): Promise<T> {
    const telemetry = this.#telemetry;
    const now = telemetry.clock.now();
    let delay = 0;
    for (const record of records) {
      delay = Math.max(delay, now - record.renewAt);
      if (now - record.grantedAt >= record.terms.longHold) telemetry.warn('held', record);
    }
    const keys = (): string[] => records.map(({ key }) => key);
    if (delay >= LATE_MS_MIN) telemetry.warn('renews', keys(), ttl, delay);
    let renewed = 0;
    const work = async (): Promise<T> => {
      const reply = await renew();
      renewed = count(reply);
      return reply;
    };
    try {
      if (!isOn(RENEW)) return await work();
      const message: RenewMessage = { instance: telemetry.instance, keys: keys(), ttl, delay };
      return await traced(RENEW, message, work, (to) => {
        to.renewed = renewed;
      });
    } finally {
      telemetry.renewals += renewed;
      telemetry.failedRenewals += records.length - renewed;
    }
  }

  /** Why a lease was ended by force, see `force-release.ts`; `undefined` if that is not known. */
  async forced({ key, id }: LeaseRecord): Promise<LossReason | undefined> {
    const command = { op: 'inspect', key: markerKey(key, 'forced', id), limit: 1 } as const;
    try {
      const [marker] = (await this.#requests.send(command, undefined, FORCED_MS)).holders;
      const { label, host, pid } = JSON.parse((marker as { meta: string }).meta);
      return `it was ended by force by process ${pid} on ${host}${label ? `: ${label}` : ''}`;
    } catch {
      return undefined;
    }
  }

  /** See `Store.shardOf`. */
  get shardOf(): ((key: string) => string) | undefined {
    return this.#requests.shardOf;
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
      const limit = patience(record, sent, CALL_WAITS);
      const reply = await this.#requests.send(command, undefined, limit);
      const [standing] = reply.standings;
      if (standing?.status !== 'granted') return 'absent';
      if (this.#confirm(record, sent, standing.left)) return 'granted';
    }
  }

  /**
   * Sends a renewal, and counts it as unanswered. The caller counts its answer, after it has
   * extended the lease: before, the lease might be taken for over. A late answer extends it too.
   */
  async #send(
    record: LeaseRecord,
    command: Renew,
    sent: Moment,
    wait: number,
  ): Promise<RenewReply> {
    const late = (reply: RenewReply): void => {
      record.latest.unanswered -= 1;
      if (reply.status === 'renewed') this.#confirm(record, sent, reply.left);
    };
    record.unanswered += 1;
    try {
      return await this.#requests.send(command, late, patience(record, sent, wait));
    } catch (error) {
      if (error instanceof StoreFailure && error.answered) record.latest.unanswered -= 1;
      throw error;
    }
  }

  /** The same for several leases. */
  async #sendMany(
    records: readonly LeaseRecord[],
    ttl: number,
    sent: Moment,
  ): Promise<RenewManyReply> {
    const retention = this.#retention;
    const keys = records.map(({ key }) => key);
    const ids = records.map(({ id }) => id);
    const command = { op: 'renewMany', keys, ids, ttl, retention } as const;
    let limit = ttl * RENEWAL_WAITS;
    for (const record of records) {
      record.unanswered += 1;
      limit = Math.min(limit, record.validUntil - sent.at);
    }
    const late = (reply: RenewManyReply): void => {
      for (const [index, left] of reply.left.entries()) {
        const record = records[index] as LeaseRecord;
        if (left !== UNANSWERED) record.latest.unanswered -= 1;
        if (left > 0) this.#confirm(record, sent, left);
      }
    };
    try {
      return await this.#requests.send(command, late, Math.max(RETRY_MS_MIN, limit));
    } catch (error) {
      if (error instanceof StoreFailure && error.answered) {
        for (const { latest } of records) latest.unanswered -= 1;
      }
      throw error;
    }
  }

  /**
   * Handles the remaining time of a lease in an answer; a root may have been handed off since the
   * request. Returns false if the machine was suspended after the request was sent; the request has
   * to be repeated.
   */
  #confirm({ latest: record }: LeaseRecord, sent: Moment, left: Micros): boolean {
    this.#events.noticeSleep();
    const sentAt = this.#suspend.toLocal(sent);
    if (sentAt === Number.NEGATIVE_INFINITY && record.state === 'held') return false;
    record.confirm(sentAt + left / 1000 - drift(left / 1000));
    this.#events.confirmed(record);
    return true;
  }
}

/** How long to wait for an answer: it is useful while the lease lasts, and a retry follows soon. */
function patience(record: LeaseRecord, sent: Moment, wait: number): number {
  const { validUntil, terms } = record;
  return Math.max(RETRY_MS_MIN, Math.min(validUntil - sent.at, terms.ttl * wait));
}
