/**
 * Sends the requests of acquisitions: one command for each new one.
 *
 * Every request repeats the id and the ticket, so a repeated one changes nothing (I3), and names
 * the current wake channel.
 */
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.js';
import type { Acquire, AcquireReply, ParkReply } from '../engine/commands.js';
import type { Moment, SuspendDetector } from '../lease/local-time.js';
import type { Settings } from '../base/options.js';
import { spread } from '../base/retry.js';
import type { Requests } from '../store/requests.js';
import type { Telemetry } from '../observe/telemetry.js';
import { PushTokens } from './pushes.js';
import type { ReplyDelay } from './reply-delay.js';
import type { Acquisition } from './acquisition.js';
import type { Wake } from '../store/wake-channel.js';

const LABELS_MAX = 100;

export type Answer = AcquireReply | ParkReply;

export interface ReplyHandler {
  onReply(acquisition: Acquisition, reply: Answer, sent: Moment, now: Moment): void;
  /** The acquisition had settled, or the request had timed out. */
  onLateReply(acquisition: Acquisition, status: Answer['status']): void;
  onFailure(acquisition: Acquisition, error: unknown): void;
}

export interface AcquireSenderParts {
  readonly settings: Settings;
  readonly requests: Requests;
  readonly suspend: SuspendDetector;
  readonly telemetry: Telemetry;
  readonly replyDelay: ReplyDelay;
}

export class AcquireSender {
  readonly parts: AcquireSenderParts;
  readonly #clock: Clock;
  readonly #wake: Wake;
  readonly handler: ReplyHandler;
  readonly #delay: () => number;
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

  /** Unless a request is under way. */
  ask(acquisition: Acquisition, sent: Moment = this.parts.suspend.moment()): void {
    const { parked } = acquisition;
    if (acquisition.settled || acquisition.asking || parked?.ready === false) return;
    const asks = this.begin(acquisition, sent);
    const command = parked === undefined ? asks : parked.command(asks);
    if (!this.parts.requests.post(command, acquisition, sent.at)) acquisition.asking = 'waits';
  }

  askLater(acquisition: Acquisition): void {
    acquisition.pause(this.#clock.after(this.#delay(), () => this.ask(acquisition)));
  }

  /**
   * Resolves when no request is under way: then the store can grant nothing that is not known here.
   * An unanswered request is over after its time limit.
   */
  settled(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  ended(acquisition: Acquisition): void {
    acquisition.asking = false;
    this.#underWay -= 1;
    if ((acquisition.asked?.channel ?? '') !== '') this.#wake.named(-1);
    if (this.#underWay > 0 || this.#idle.length === 0) return;
    for (const tell of this.#idle.splice(0)) tell();
  }

  /** Makes a request, which is under way until `ended`; a `turn` may carry it. */
  begin(acquisition: Acquisition, now: Moment): Acquire {
    const { id, request, queue } = acquisition;
    const { key, kind, weight, capacity, terms } = request;
    const { settings, replyDelay } = this.parts;
    const { channel } = this.#wake;
    const longest = Math.min(settings.claimWindow, terms.ttl);
    const command: Acquire = {
      op: 'acquire',
      key,
      id,
      owner: terms.owner,
      weight,
      kind,
      capacity,
      ttl: terms.ttl,
      // a lease that is not renewed starts with its full ttl
      claim: terms.renew ? Math.ceil(longest) : terms.ttl,
      fair: terms.fair,
      handOffs: queue === undefined ? 0 : settings.localHandOffs,
      channel,
      token:
        channel === '' ? '' : (acquisition.tokens ??= new PushTokens()).draw(settings.randomSource),
      queue: terms.wait > 0,
      // that of its tasks, if it has none
      ticket: acquisition.ticket === 0 ? (queue?.ticket ?? 0) : acquisition.ticket,
      waited: queue?.waited(now.at) ?? 0,
      tasks: queue?.size ?? 0,
      maxQueue: settings.maxQueue,
      patience: replyDelay.patience(this.#wake.period(longest, Infinity)),
      retention: settings.retention,
      meta: this.#metas.get(terms.label) ?? this.#meta(terms.label),
    };
    acquisition.asking = 'sent';
    acquisition.asked = command;
    acquisition.askedAt = now;
    this.#underWay += 1;
    if (channel !== '') this.#wake.named(1);
    return command;
  }

  #meta(label: string): string {
    const meta = JSON.stringify({ host: hostname(), pid: process.pid, ...(label && { label }) });
    if (this.#metas.size >= LABELS_MAX) this.#metas.clear();
    this.#metas.set(label, meta);
    return meta;
  }
}
