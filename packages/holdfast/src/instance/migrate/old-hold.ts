/**
 * A lock of the other library that this process holds: its renewal, and its end.
 *
 *     held --renewals--> held
 *        \--"not yours" from the servers, or its end on our clock--> over
 *
 * Its end is counted from before the last successful request was sent, less a margin for drift, as
 * a lease's (I7). After a possible suspend it is in doubt until a renewal is answered.
 */
import type { Clock, Timer } from '../../base/clock.js';
import { drift, type Moment, type SuspendDetector, withDrift } from '../../lease/local-time.js';
import { Pause } from '../../base/pause.js';
import { quietly } from '../../primitives/acquirer.js';
import { retry } from '../../base/retry.js';
import type { OldLock } from './old-lock.js';

export interface OldHoldParts {
  readonly lock: OldLock;
  readonly holder: string;
  readonly ttl: number;
  readonly clock: Clock;
  readonly suspend: SuspendDetector;
  readonly requestTimeout: number;
}

export interface OldHoldEvents {
  /** The lock is over and was not released. Called once. */
  lost(): void;
  /** False when no renewal is needed any more. */
  isWanted(): boolean;
}

const RENEW_AT = 0.5;
const WAITS = 1 / 6;
const RETRY_MS_MIN = 5;
/** The pause between attempts to release the lock, or to end a doubt. */
const RETRY_MS = 100;

export class OldHold {
  readonly #parts: OldHoldParts;
  readonly #events: OldHoldEvents;
  /** The moment before the last successful request, and the ms that it asked for. */
  #sent: Moment;
  #length: number;
  /** The latest end that was asked for. No later request asks for less. */
  #wanted = 0;
  #over = false;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;

  constructor(parts: OldHoldParts, sent: Moment, events: OldHoldEvents) {
    this.#parts = parts;
    this.#sent = sent;
    this.#length = parts.ttl;
    this.#events = events;
    this.#plan();
  }

  /** 0 if it is over or in doubt. */
  get remaining(): number {
    this.check();
    if (this.#over) return 0;
    const { suspend } = this.#parts;
    const now = suspend.moment();
    return Math.max(0, suspend.toLocal(this.#sent, now) + this.#usable - now.at);
  }

  /** Ends it at its time. Asks the servers at once after a possible suspend. */
  check(): void {
    if (this.#over) return;
    const { suspend } = this.#parts;
    const now = suspend.moment();
    if (now.at >= this.#sent.at + this.#usable) this.#lose();
    else if (suspend.toLocal(this.#sent, now) !== this.#sent.at) void this.#renew();
  }

  async verify(): Promise<boolean> {
    const { clock } = this.#parts;
    const pause = new Pause(clock);
    for (;;) {
      if (this.remaining > 0) return true;
      if (this.#over) return false;
      await this.#renew();
      if (this.remaining === 0 && !this.#over) await pause.for(RETRY_MS, true);
    }
  }

  /** Extends the lock to at least `ms` from now. Rejects without an answer. */
  async extend(ms: number): Promise<void> {
    await this.#extend(withDrift(ms), this.#parts.requestTimeout);
  }

  leave(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  /**
   * False if it had ended before. Without an answer, the release is repeated in the background
   * until the lock has expired.
   */
  async release(): Promise<boolean> {
    const { lock, clock, holder, requestTimeout } = this.#parts;
    const isOver = this.#over;
    this.leave();
    const attempt = (): Promise<0 | 1> => lock.release(clock, requestTimeout, holder);
    try {
      return (await attempt()) === 1 && !isOver;
    } catch {
      const policy = { clock, delay: () => RETRY_MS, continues: () => true, weak: true };
      void quietly(retry(attempt, { ...policy, until: this.#sent.at + this.#length }));
      return true;
    }
  }

  get #usable(): number {
    return this.#length - drift(this.#length);
  }

  #plan(pause: number = this.#parts.ttl * RENEW_AT): void {
    if (this.#over) return;
    this.#timer?.cancel();
    const { clock } = this.#parts;
    const left = this.#sent.at + this.#usable - clock.now();
    this.#timer = clock.after(Math.min(pause, left), () => this.#due(), true);
  }

  #due(): void {
    this.check();
    if (!this.#events.isWanted()) this.leave();
    if (!this.#over) void this.#renew();
  }

  /** One at a time. Never rejects. */
  #renew(): Promise<void> {
    this.#renewing ??= this.#renewOnce().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewOnce(): Promise<void> {
    const { ttl, clock } = this.#parts;
    try {
      await this.#extend(ttl, Math.max(RETRY_MS_MIN, ttl * WAITS));
    } catch {
      this.check();
      const left = this.#sent.at + this.#usable - clock.now();
      this.#plan(Math.max(RETRY_MS_MIN, Math.min(left, ttl) / 10));
    }
  }

  async #extend(length: number, limit: number): Promise<void> {
    const { lock, clock, suspend, holder, ttl } = this.#parts;
    for (;;) {
      const sent = suspend.moment();
      const ms = Math.ceil(Math.max(length, ttl, this.#wanted - sent.at));
      this.#wanted = sent.at + ms;
      if ((await lock.renew(clock, limit, holder, ms)) === 0) return this.#lose();
      if (this.#over) return;
      // an answer from before a suspend has no meaning
      if (suspend.toLocal(sent) !== sent.at) continue;
      // an earlier request may be answered later
      if (sent.at + ms >= this.#sent.at + this.#length) [this.#sent, this.#length] = [sent, ms];
      return this.#plan();
    }
  }

  #lose(): void {
    if (this.#over) return;
    this.leave();
    this.#events.lost();
  }
}
