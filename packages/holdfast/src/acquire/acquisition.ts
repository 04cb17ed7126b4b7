/**
 * One acquisition in the store, from its first request to its final result. It is the receiver of
 * the answers to its requests, of which one is under way at a time.
 *
 *     asking --granted--> settled
 *        \---queued--> waiting --grant (push, poll)--> settled
 *     either --refused, timeout, abort, failure, close--> settled, and withdrawn from the store
 *
 * It settles once (I6). A grant that arrives after that is released.
 */
import { Link } from '../base/chain.js';
import type { Timer } from '../base/clock.js';
import type { Acquire, Again, Micros, Queued } from '../engine/commands.js';
import { DRIFT, type Moment, type SuspendDetector } from '../lease/local-time.js';
import { type Grant, type Hold, Root } from '../lease/root.js';
import type { Telemetry } from '../observe/telemetry.js';
import type { Receiver } from '../store/requests.js';
import type { AcquireSender, Answer } from './acquire-sender.js';
import type { Place } from './failures.js';
import type { PushTokens } from './pushes.js';
import type { Origin } from './cleanup/abandoned.js';
import type { AcquireRequest, Call, Waited } from './call.js';
import type { Parked } from './conditions/parked.js';
import type { PollQueue } from './poll-queues.js';
import type { RootQueue } from './root-queue.js';

/** See `tooLate`. */
const LATE_MAX = 3;
/** Before all others. */
const FIRST_TICKET = 1;

export class Acquisition extends Link implements Receiver<Answer>, Waited {
  readonly id: string;
  readonly request: AcquireRequest;
  settled = false;
  hold: Hold | null = null;
  /** 0 before it has one. */
  ticket = 0;
  tokens: PushTokens | undefined;
  /** A push of its grant came since it was last told to wait. */
  pushed = false;
  /** A push came while a request was under way, whose answer may be older. */
  asksAgain = false;
  /**
   * The local time before a request was sent, and the store's time when it answered: they convert
   * the time of a grant to the local clock.
   */
  sent: Moment;
  storeTime: Micros = 0;
  readonly arrived: number;
  heardAt: number;
  trouble: unknown;
  #late = 0;
  /** Whether a request is under way, or waits for its turn (`Requests.post`). */
  asking: 'sent' | 'waits' | false = false;
  /** See `LateDuplicates`. */
  mayBeDuplicated = false;
  /** Set if it takes a lock back that was given up at a condition. */
  readonly parked: Parked | undefined;
  /** The call that it is for; or the tasks of the entry of a root, of which the oldest holds. */
  call: Call<Acquisition> | undefined;
  readonly queue: RootQueue | undefined;
  /** The queue that polls for it, while it waits in the store. */
  polled: PollQueue | undefined;
  /** See `Queued.ahead`; `''` if unknown. */
  ahead = '';
  readonly #sender: AcquireSender;
  asked: Acquire | undefined;
  askedAt: Moment;
  #pause: Timer | undefined;

  constructor(
    sender: AcquireSender,
    id: string,
    request: AcquireRequest,
    now: Moment,
    queue?: RootQueue,
    parked?: Parked,
  ) {
    super();
    this.#sender = sender;
    this.request = request;
    this.queue = queue;
    this.parked = parked;
    this.id = id;
    this.sent = now;
    this.askedAt = now;
    this.arrived = now.at;
    this.heardAt = now.at;
  }

  /** It waits for a signal, not for permits. */
  get asleep(): boolean {
    return this.parked?.asleep === true;
  }

  /** Set if it waits, or waited, at a condition. */
  get origin(): Origin | undefined {
    const { parked } = this;
    return parked && { id: parked.from.id, condition: parked.condition };
  }

  get abandoned(): boolean {
    return this.queue?.size === 0;
  }

  /**
   * No request is under way that could queue it again after a withdrawal: `ahead` of a later entry
   * would name it then, at a later place.
   */
  get isCertain(): boolean {
    return !this.asking && !this.mayBeDuplicated;
  }

  get taker(): AcquireRequest {
    return (this.queue?.first ?? this).request;
  }

  get overdue(): boolean {
    return this.call?.overdue === true;
  }

  placeOf(): Place {
    return { ticket: this.ticket, before: 0 };
  }

  get channel(): string {
    return this.asked?.channel ?? '';
  }

  get told(): number {
    return this.asked?.tasks ?? 0;
  }

  get heard(): boolean {
    return this.storeTime !== 0;
  }

  /**
   * A push was faster than the answer to a request and began a lease that was not lost. The request
   * came before the end of that lease, so nothing of it is left in the store, and no copy is on its
   * way. Only while the connection of the request is the same.
   */
  hadLease(): boolean {
    const { hold, parked } = this;
    if (hold === null || parked !== undefined || hold.root.hold.state === 'lost') return false;
    hold.root.mayBeDuplicated = this.mayBeDuplicated;
    return true;
  }

  get deaf(): boolean {
    return this.heard && (this.channel === '' || this.asking === 'sent');
  }

  get unsent(): boolean {
    return this.asking === 'waits' && !this.heard;
  }

  /** The store has nothing of it. */
  get neverSent(): boolean {
    return this.unsent && this.trouble === undefined && !this.mayBeDuplicated;
  }

  /** A request that has waited is sent. The time before counts only after a failure. */
  due(): boolean {
    if (this.settled && this.parked === undefined) {
      this.#sender.ended(this);
      return false;
    }
    this.askedAt = this.#sender.parts.suspend.moment();
    this.asking = 'sent';
    if (this.trouble === undefined) this.heardAt = this.askedAt.at;
    return true;
  }

  answered(reply: Answer, isSame: boolean): void {
    const { parts, handler } = this.#sender;
    const { replyDelay, suspend } = parts;
    const sent = this.askedAt;
    this.#sender.ended(this);
    this.tokens?.answered(this.asked?.token ?? '');
    const now = suspend.moment();
    if (replyDelay.took(now.at - sent.at, now.at) && !isSame) this.mayBeDuplicated = true;
    this.parked?.answered(reply);
    if (isSame && this.hold !== null && this.hadLease()) return;
    if (this.settled) return handler.onLateReply(this, reply.status);
    this.hear(sent, reply.now, now.at);
    handler.onReply(this, reply, sent, now);
  }

  failed(error: unknown): void {
    this.#sender.ended(this);
    this.mayBeDuplicated = true;
    if (this.settled) this.parked?.unanswered();
    else this.#sender.handler.onFailure(this, error);
  }

  late(reply: Answer): void {
    this.parked?.answered(reply);
    this.#sender.handler.onLateReply(this, reply.status);
  }

  /**
   * The answer to a `turn` that carried its request; `undefined` if it is not known whether the
   * store received that. An acquisition that was given up meanwhile is withdrawn once more: its
   * first withdrawal may have arrived before the `turn`.
   */
  turned(reply: Again | undefined, sent: Moment): void {
    const { parts, handler } = this.#sender;
    this.#sender.ended(this);
    if (reply === undefined) this.mayBeDuplicated = true;
    else this.tokens?.answered(this.asked?.token ?? '');
    // with `replicas`, a grant counts only as the reply to a request
    const counts = reply?.status !== 'granted' || parts.settings.replicas === 0;
    if (this.settled) return handler.onLateReply(this, reply?.status ?? 'queued');
    if (reply === undefined || reply.status === 'absent' || !counts) return this.#sender.ask(this);
    const now = parts.suspend.moment();
    this.hear(sent, reply.now, now.at);
    handler.onReply(this, reply, sent, now);
  }

  root(telemetry: Telemetry, grant: Grant, now: number): Root {
    const { key, weight, terms } = (this.queue?.first ?? this).request;
    const root = new Root(telemetry, { key, id: this.id, weight, terms }, grant, now);
    root.mayBeDuplicated = this.mayBeDuplicated || this.asking !== false;
    if (this.parked !== undefined) root.extras.origin = this.origin;
    root.channel = this.asked?.channel ?? '';
    root.observer = this.queue;
    if (this.request.stays === true) root.hold.leave('left');
    return root;
  }

  queued({ ticket, ahead }: Queued): void {
    this.ticket = ticket;
    this.pushed = false;
    this.asksAgain = false;
    // a repeated request does not tell it again
    if (ahead !== undefined) this.standsBehind(ahead);
  }

  standsBehind(ahead: string): void {
    const { queue } = this;
    queue?.of.gone(queue, this);
    this.ahead = ahead;
    queue?.of.stands(queue, this);
  }

  moved(): void {
    if (this.parked !== undefined) this.parked.queued = true;
    if (this.queue === undefined) this.request.onProgress?.(undefined);
    else {
      this.queue.progress(undefined);
      if (this.queue.overdue) this.queue.rejectOverdue();
    }
  }

  /**
   * Counts a grant whose lease was over when the reply arrived. True if no further request is worth
   * it. A lease from the queue begins with a claim window, and a busy process may miss some.
   */
  tooLate(left: Micros): boolean {
    if (this.queue?.overdue === true) this.queue.rejectOverdue();
    if (this.abandoned) return true;
    if (left >= this.request.terms.ttl * 1000) this.#late += 1;
    return this.request.terms.wait === 0 || this.overdue || this.#late >= LATE_MAX;
  }

  isPatient(now: number, unreachableAfter: number): boolean {
    if (this.queue !== undefined) {
      this.queue.rejectImpatient(this.heardAt, now, unreachableAfter);
      return this.queue.size > 0;
    }
    const last = this.request.terms.wait === 0 || this.overdue;
    return !last && now - this.heardAt < unreachableAfter;
  }

  pause(timer: Timer): void {
    this.#pause?.cancel();
    this.#pause = timer;
  }

  hear(sent: Moment, storeTime: Micros, now: number): void {
    this.sent = sent;
    this.storeTime = storeTime;
    this.heardAt = now;
    this.trouble = undefined;
  }

  /** No answer, or an error of the server that may pass. */
  fault(error: unknown): void {
    this.trouble = error;
    if (this.queue === undefined) this.request.onProgress?.(error);
    else this.queue.progress(error);
  }

  grant(hold: Hold | null, first?: Promise<void>): void {
    const { queue } = this;
    this.parked?.granted();
    if (!this.#settle()) return;
    this.hold = hold;
    this.call?.grant(hold, first);
    if (queue === undefined || hold === null) return;
    // its place is before all that came later; if it is not known, before all
    if (queue.fair) queue.ticket = this.ticket || queue.ticket || FIRST_TICKET;
    queue.granted(hold, first);
    if (queue.overdue) queue.rejectOverdue();
  }

  fail(error: Error): void {
    if (!this.#settle()) return;
    this.call?.fail(error);
    this.queue?.failed(error);
  }

  /**
   * The earliest local time at which the store's clock can have shown `storeTime`, with a margin
   * for the speeds of the clocks. Without an answer, it is the time before the first request.
   */
  localTime(suspend: SuspendDetector, storeTime: Micros, now: Moment): number {
    const sentAt = suspend.toLocal(this.sent, now);
    if (this.storeTime === 0) return sentAt;
    const since = (storeTime - this.storeTime) / 1000;
    return sentAt + since - Math.abs(since) * DRIFT;
  }

  #settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    const { queue } = this;
    if (queue !== undefined) {
      queue.entry = undefined;
      if (this.ahead !== '') queue.of.gone(queue, this);
    }
    this.#pause?.cancel();
    return true;
  }
}
