/**
 * Sends the requests of acquisitions: one command for each new one.
 *
 * Every request repeats the id and the ticket, so a repeated one changes nothing (I3), and names
 * the current wake channel. All replies, also late ones, go to the `ReplyHandler`.
 */
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.js';
import type { Acquire, AcquireReply, Park, ParkReply } from '../engine/commands.js';
import type { Moment, SuspendDetector } from '../lease/local-time.js';
import type { Settings } from '../base/options.js';
import { spread } from '../base/retry.js';
import type { Receiver, Requests } from '../store/requests.js';
import type { Telemetry } from '../observe/telemetry.js';
import { UNHEARD } from './poll-queues.js';
import type { ReplyDelay } from './reply-delay.js';
import type { Acquisition } from './acquisition.js';
import type { Wake } from '../store/wake-channel.js';

/** The most labels whose encoded metadata is kept. */
const LABELS_MAX = 100;

/** The fields of a request that limit the push of its grant. */
type Asking = Pick<Acquire, 'channel' | 'claim'> & Partial<Pick<Acquire, 'handOffs' | 'tasks'>>;

export type Answer = AcquireReply | ParkReply;

export interface ReplyHandler {
  /** The reply arrived in time. */
  onReply(acquisition: Acquisition, reply: Answer, sent: Moment, now: Moment): void;
  /** The reply arrived after the acquisition had settled or the request had timed out. */
  onLateReply(acquisition: Acquisition, status: Answer['status']): void;
  /** A request failed, or had no answer. */
  onFailure(acquisition: Acquisition, error: unknown): void;
}

export interface AcquireSenderParts {
  readonly settings: Settings;
  readonly requests: Requests;
  readonly suspend: SuspendDetector;
  readonly telemetry: Telemetry;
  readonly replyDelay: ReplyDelay;
}

/** A request that is under way. */
class Asked implements Receiver<Answer> {
  readonly #sender: AcquireSender;
  readonly #acquisition: Acquisition;
  readonly #command: Acquire | Park;
  /** The moment before it was sent. */
  #sent: Moment;

  constructor(
    sender: AcquireSender,
    acquisition: Acquisition,
    command: Acquire | Park,
    sent: Moment,
  ) {
    this.#sender = sender;
    this.#acquisition = acquisition;
    this.#command = command;
    this.#sent = sent;
  }

  /** False if its acquisition has settled meanwhile. */
  due(): boolean {
    const acquisition = this.#acquisition;
    if (acquisition.settled && acquisition.parked === undefined) {
      this.#sender.ended(acquisition, this.#command);
      return false;
    }
    this.#sent = this.#sender.parts.suspend.moment();
    acquisition.asks(this.#sent.at);
    return true;
  }

  answered(reply: Answer, isSame: boolean): void {
    const acquisition = this.#acquisition;
    const { token } = this.#command;
    const sent = this.#sent;
    const { parts, handler } = this.#sender;
    this.#sender.ended(acquisition, this.#command);
    if (token !== '') acquisition.tokens.answered(token);
    const now = parts.suspend.moment();
    if (parts.replyDelay.took(now.at - sent.at) && !isSame) acquisition.mayBeDuplicated = true;
    acquisition.parked?.answered(reply);
    if (isSame && acquisition.hold !== null && acquisition.hadLease()) return;
    if (acquisition.settled) handler.onLateReply(acquisition, reply.status);
    else handler.onReply(acquisition, reply, sent, now);
  }

  failed(error: unknown): void {
    const acquisition = this.#acquisition;
    this.#sender.ended(acquisition, this.#command);
    acquisition.mayBeDuplicated = true;
    if (acquisition.settled) acquisition.parked?.unanswered();
    else this.#sender.handler.onFailure(acquisition, error);
  }

  late(reply: Answer): void {
    this.#acquisition.parked?.answered(reply);
    this.#sender.handler.onLateReply(this.#acquisition, reply.status);
  }
}

export class AcquireSender {
  readonly parts: AcquireSenderParts;
  readonly #clock: Clock;
  readonly #wake: Wake;
  readonly handler: ReplyHandler;
  readonly #delay: () => number;
  /** Encoded metadata for `inspect`, by label. */
  readonly #metas = new Map<string, string>();
  #underWay = 0;
  #idle: (() => void)[] = [];

  constructor(parts: AcquireSenderParts, wake: Wake, handler: ReplyHandler) {
    this.parts = parts;
    this.#clock = parts.settings.clock;
    this.#wake = wake;
    this.handler = handler;
    this.#delay = spread(parts.settings);
  }

  /**
   * Unless a request is under way.
   * @param sent the current moment
   */
  ask(acquisition: Acquisition, sent: Moment = this.parts.suspend.moment()): void {
    const { parked } = acquisition;
    if (acquisition.settled || acquisition.asking || parked?.ready === false) return;
    const asks = this.#command(acquisition, sent.at);
    const command = parked === undefined ? asks : parked.command(asks);
    this.#begins(acquisition, command);
    const asked = new Asked(this, acquisition, command, sent);
    if (!this.parts.requests.post(command, asked, sent.at)) acquisition.asking = 'waits';
  }

  /** The first request, which another command carries; it is under way until `ended`. */
  begin(acquisition: Acquisition): Acquire {
    const asked = this.#command(acquisition, acquisition.arrived);
    this.#begins(acquisition, asked);
    return asked;
  }

  askLater(acquisition: Acquisition): void {
    acquisition.pause(this.#clock.after(this.#delay(), () => this.ask(acquisition)));
  }

  /**
   * Resolves when no request is under way: the store can grant nothing any more that is not known
   * here. A request without an answer is over after its time limit.
   */
  settled(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #begins(acquisition: Acquisition, command: Asking): void {
    acquisition.asking = 'sent';
    this.#underWay += 1;
    acquisition.channel = command.channel;
    const { claim, handOffs = 0, tasks = 0 } = command;
    acquisition.told = tasks;
    acquisition.bounds = { owner: acquisition.request.terms.owner, claim, handOffs };
    if (command.channel !== '') this.#wake.named(1);
  }

  ended(acquisition: Acquisition, { channel }: Asking): void {
    acquisition.asking = false;
    this.#underWay -= 1;
    if (channel !== '') this.#wake.named(-1);
    if (this.#underWay === 0) for (const tell of this.#idle.splice(0)) tell();
  }

  #command(acquisition: Acquisition, now: number): Acquire {
    const { id, request, queue } = acquisition;
    const { key, kind, weight, capacity, terms } = request;
    const { settings, replyDelay } = this.parts;
    const { channel } = this.#wake;
    const longest = Math.min(settings.claimWindow, terms.ttl);
    return {
      op: 'acquire',
      key,
      id,
      owner: terms.owner,
      weight,
      kind,
      capacity,
      ttl: terms.ttl,
      // a lease that is not renewed starts with its full ttl
      claim: terms.renew ? longest : terms.ttl,
      fair: terms.fair,
      handOffs: queue === undefined ? 0 : settings.localHandOffs,
      channel,
      token: channel === '' ? '' : acquisition.tokens.draw(settings.randomSource),
      queue: terms.wait > 0,
      // its own, or the one that its tasks had before
      ticket: acquisition.ticket === 0 ? (queue?.ticket ?? 0) : acquisition.ticket,
      waited: queue?.waited(now) ?? 0,
      tasks: queue?.size ?? 0,
      maxQueue: settings.maxQueue,
      patience: replyDelay.patience(channel === '' ? longest / UNHEARD : longest),
      retention: settings.retention,
      meta: this.#metas.get(terms.label) ?? this.#meta(terms.label),
    };
  }

  #meta(label: string): string {
    const meta = JSON.stringify({ host: hostname(), pid: process.pid, ...(label && { label }) });
    if (this.#metas.size >= LABELS_MAX) this.#metas.clear();
    this.#metas.set(label, meta);
    return meta;
  }
}
