/**
 * Sends the requests of acquisitions: one command for each new acquisition, and one poll for all
 * waiters of a key.
 *
 * Every request repeats the id and the ticket of the acquisition, so a repeated request changes
 * nothing (I3), and names the current wake channel. All replies, also late ones, go to the
 * `ReplyHandler`.
 */
import type { Clock } from '../clock.js';
import type {
  Acquire,
  AcquireReply,
  Again,
  Micros,
  Park,
  ParkReply,
  Standing,
  Turn,
} from '../engine/commands.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import type { Moment, SuspendDetector } from '../lease/suspend-detector.js';
import type { Settings } from '../options.js';
import { spread } from '../retry.js';
import type { Receiver, Requests } from '../store/requests.js';
import type { Telemetry } from '../telemetry.js';
import type { LateDuplicates } from '../cleanup/late-duplicates.js';
import type { LocalQueue } from './local-queue.js';
import { ConditionWaiter } from './condition-waiter.js';
import type { Acquisition } from './acquisition.js';
import type { RootAcquisition } from './root-acquisition.js';
import type { Wake } from '../store/wake-channel.js';

/** The most acquisitions of one poll; the others go into further polls. */
const POLL_MAX = 1000;
/** Poll periods without a request of this process after which the store takes it for dead. */
const SILENT_PERIODS = 6;
/** The shortest patience: a shorter silence may come from the network or from a busy process. */
const PATIENCE_MS_MIN = 250;

/** The fields of a `turn` that queues no root. */
const NO_ROOT = {
  ...{ ttl: 1, claim: 1, handOffs: 0, channel: '', token: '', waited: 0, tasks: 0 },
  ...{ patience: 0, meta: '' },
} as const;

/** The fields of a request that limit the push of its grant. */
type Asking = Pick<Acquire, 'channel' | 'claim'> & Partial<Pick<Acquire, 'handOffs'>>;

/** A reply of the store to a request of an acquisition. */
export type Answer = AcquireReply | ParkReply;

/** Receives the replies. */
export interface ReplyHandler {
  /** The reply arrived in time, at the local time `now`. */
  onReply(acquisition: Acquisition, reply: Answer, sent: Moment, now: number): void;
  /** The reply arrived after the acquisition had settled or the request had timed out. */
  onLateReply(acquisition: Acquisition, status: Answer['status']): void;
  /** A poll returned the standing of a waiter. */
  onStatus(acquisition: Acquisition, standing: Standing, sent: Moment, now: Micros): void;
  /** A request or a poll failed, or had no answer. */
  onFailure(acquisition: Acquisition, error: unknown): void;
}

export interface AcquireSenderParts {
  readonly settings: Settings;
  readonly requests: Requests;
  readonly suspend: SuspendDetector;
  readonly telemetry: Telemetry;
  readonly lateDuplicates: LateDuplicates;
  /** The encoded metadata of a holder or waiter, which `inspect` shows. */
  readonly meta: (label: string) => string;
}

/** A request that is under way. */
class Asked implements Receiver<Answer> {
  readonly acquisition: Acquisition;
  readonly command: Acquire | Park;
  /** The moment before it was sent. */
  readonly sent: Moment;
  readonly #sender: AcquireSender;

  constructor(
    sender: AcquireSender,
    acquisition: Acquisition,
    command: Acquire | Park,
    sent: Moment,
  ) {
    this.#sender = sender;
    this.acquisition = acquisition;
    this.command = command;
    this.sent = sent;
  }

  answered(reply: Answer): void {
    this.#sender.answered(this, reply);
  }

  failed(error: unknown): void {
    this.#sender.failed(this, error);
  }

  late(reply: Answer): void {
    this.#sender.late(this, reply);
  }
}

export class AcquireSender {
  readonly #parts: AcquireSenderParts;
  readonly #clock: Clock;
  readonly #wake: Wake;
  readonly #handler: ReplyHandler;
  readonly #delay: () => number;

  constructor(parts: AcquireSenderParts, wake: Wake, handler: ReplyHandler) {
    this.#parts = parts;
    this.#clock = parts.settings.clock;
    this.#wake = wake;
    this.#handler = handler;
    this.#delay = spread(parts.settings);
  }

  /**
   * Sends the request of an acquisition, unless one is under way.
   * @param sent the current moment
   */
  ask(acquisition: Acquisition, sent: Moment = this.#parts.suspend.moment()): void {
    if (acquisition.settled || acquisition.asking || !acquisition.ready) return;
    const command = acquisition.command(this.#command(acquisition));
    this.#begins(acquisition, command);
    this.#parts.requests.post(command, new Asked(this, acquisition, command, sent));
  }

  /** The reply to a request arrived in time. */
  answered({ acquisition, command, sent }: Asked, reply: Answer): void {
    this.#ends(acquisition, command);
    acquisition.tokens.answered(command.token);
    const now = this.#clock.now();
    if (this.#parts.lateDuplicates.possible(now - sent.at)) acquisition.mayBeDuplicated = true;
    if (acquisition instanceof ConditionWaiter) acquisition.onReply(reply);
    if (acquisition.settled) this.#handler.onLateReply(acquisition, reply.status);
    else this.#handler.onReply(acquisition, reply, sent, now);
  }

  /** A request failed, or had no answer in time. */
  failed({ acquisition, command }: Asked, error: unknown): void {
    this.#ends(acquisition, command);
    acquisition.mayBeDuplicated = true;
    if (acquisition.settled) acquisition.unanswered();
    else this.#handler.onFailure(acquisition, error);
  }

  /** The reply to a request arrived after its deadline. */
  late({ acquisition }: Asked, reply: Answer): void {
    if (acquisition instanceof ConditionWaiter) acquisition.onReply(reply);
    this.#handler.onLateReply(acquisition, reply.status);
  }

  /**
   * The command that ends the root of a lease. With `again`, it is also the request of the next
   * root, which is under way until {@link turned}.
   */
  turn({ key, id, rootFence: fence, fence: used }: LeaseRecord, again?: RootAcquisition): Turn {
    const { retention } = this.#parts.settings;
    const root = { op: 'turn', key, id, fence, used, retention } as const;
    if (again === undefined) return { ...root, again: '', ...NO_ROOT };
    const asked = this.#command(again);
    this.#begins(again, asked);
    const { ttl, claim, handOffs, channel, token, waited = 0, tasks = 0, patience, meta } = asked;
    const next = { again: again.id, ttl, claim, handOffs, channel, token, fair: asked.fair };
    return { ...root, ...next, waited, tasks, patience, meta };
  }

  /**
   * The store has answered the `turn` that queues a root; or no attempt follows, and it is not
   * known whether the store received one (`undefined`). A root that was given up meanwhile is
   * withdrawn once more: its first withdrawal may have arrived before the `turn`.
   */
  turned(root: RootAcquisition, command: Turn, reply: Again | undefined, sent: Moment): void {
    this.#ends(root, command);
    if (reply === undefined) root.mayBeDuplicated = true;
    else root.tokens.answered(command.token);
    const status = reply?.status ?? 'queued';
    if (root.settled) this.#handler.onLateReply(root, status);
    else if (reply === undefined || reply.status === 'absent' || this.#mustAsk(reply))
      this.ask(root);
    else this.#handler.onReply(root, reply, sent, this.#clock.now());
  }

  /** With `replicas`, a grant counts only as the reply to a request. */
  #mustAsk({ status }: Again): boolean {
    return status === 'granted' && this.#parts.settings.replicas > 0;
  }

  /** Sends the request of an acquisition again after a pause. */
  askLater(acquisition: Acquisition): void {
    acquisition.pause(this.#clock.after(this.#delay(), () => this.ask(acquisition)));
  }

  /**
   * Polls all waiters of a key. A waiter that the store knows with another wake channel sends its
   * request again.
   */
  poll(line: LocalQueue): void {
    line.plan(Number.POSITIVE_INFINITY, this.period(line.acquisitions()));
    const polled: Acquisition[] = [];
    for (const acquisition of line.acquisitions()) {
      if (acquisition.channel !== this.#wake.channel) this.ask(acquisition);
      else polled.push(acquisition);
    }
    for (let from = 0; from < polled.length; from += POLL_MAX) {
      void this.#look(line, polled.slice(from, from + POLL_MAX));
    }
  }

  /** Polls some waiters of a key with one command. */
  async #look(line: LocalQueue, polled: readonly Acquisition[]): Promise<void> {
    const ids = polled.map(({ id }) => id);
    const { requests, settings, suspend, telemetry } = this.#parts;
    const { retention } = settings;
    const patience = this.#patience(line.acquisitions());
    const sent = suspend.moment();
    telemetry.pollings += 1;
    try {
      const reply = await requests.send({ op: 'poll', key: line.key, ids, patience, retention });
      for (const [index, standing] of reply.standings.entries()) {
        this.#handler.onStatus(polled[index] as Acquisition, standing, sent, reply.now);
      }
      // condition waiters have nothing to poll for when a lease ends
      const next = line.asleep ? Number.POSITIVE_INFINITY : reply.next;
      line.plan(next, this.period(line.acquisitions()));
    } catch (error) {
      for (const acquisition of polled) this.#handler.onFailure(acquisition, error);
    }
  }

  /**
   * The longest time until the next poll: one claim window, so that a grant to a frozen process is
   * noticed within one. Without pushes, only polls find a grant, so they come four times as often.
   */
  period(acquisitions: Iterable<Acquisition>): number {
    let claim = this.#parts.settings.claimWindow;
    for (const { request } of acquisitions) claim = Math.min(claim, request.terms.ttl);
    return this.#wake.channel === '' ? claim / 4 : claim;
  }

  /** How long this process may be silent before the store takes it for dead. */
  #patience(acquisitions: Iterable<Acquisition>): number {
    return Math.ceil(Math.max(PATIENCE_MS_MIN, SILENT_PERIODS * this.period(acquisitions)));
  }

  /** A request of an acquisition is under way. */
  #begins(acquisition: Acquisition, command: Asking): void {
    acquisition.asking = true;
    acquisition.channel = command.channel;
    const { claim, handOffs = 0 } = command;
    acquisition.bounds = { owner: acquisition.request.terms.owner, claim, handOffs };
    if (command.channel !== '') this.#wake.named(1);
  }

  #ends(acquisition: Acquisition, { channel }: Asking): void {
    acquisition.asking = false;
    if (channel !== '') this.#wake.named(-1);
  }

  #command(acquisition: Acquisition): Acquire {
    const { id, ticket, request } = acquisition;
    const { key, weight, capacity, terms } = request;
    const { settings } = this.#parts;
    const { channel } = this.#wake;
    return {
      op: 'acquire',
      key,
      id,
      owner: terms.owner,
      weight,
      capacity,
      ttl: terms.ttl,
      // a lease that is not renewed starts with its full ttl
      claim: terms.renew ? Math.min(settings.claimWindow, terms.ttl) : terms.ttl,
      fair: terms.fair,
      handOffs: acquisition.tasks > 0 ? settings.localHandOffs : 0,
      channel,
      token: channel === '' ? '' : acquisition.tokens.draw(settings.randomSource),
      queue: terms.wait > 0,
      ticket,
      waited: acquisition.waited(this.#clock.now()),
      tasks: acquisition.tasks,
      maxQueue: settings.maxQueue,
      patience: this.#patience([acquisition]),
      retention: settings.retention,
      meta: this.#parts.meta(terms.label),
    };
  }
}
