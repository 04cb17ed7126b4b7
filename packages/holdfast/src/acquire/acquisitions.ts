/**
 * The pending acquisitions of this process, and how a grant becomes a lease here.
 *
 * A free lock costs one command. Otherwise the acquisition waits in the store's queue and here; the
 * first waiter opens the wake channel, and grants then come by push. A deadline starts at the
 * store's grant time, converted to the local clock with the waiter's last reply (I7).
 */
import { aborted } from '../base/abort.js';
import { Records } from '../base/chain.js';
import type { Clock } from '../base/clock.js';
import type { Granted, Micros, ParkReply, Push, Standing } from '../engine/commands.js';
import type { HoldfastError } from '../base/errors.js';
import { drift, type Moment, type SuspendDetector } from '../lease/local-time.js';
import { Lasting } from '../lease/lasting.js';
import type { Grant, Hold } from '../lease/root.js';
import type { Watchdog } from '../lease/watchdog.js';
import { Revocations } from '../lease/revocations.js';
import type { Settings } from '../base/options.js';
import { isClosed, isRefusal, type Store } from '../store/port.js';
import type { HandOffMessage } from '../observe/messages.js';
import { ACQUIRE, type Telemetry } from '../observe/telemetry.js';
import {
  type Answer,
  AcquireSender,
  type AcquireSenderParts,
  type ReplyHandler,
} from './acquire-sender.js';
import * as failures from './failures.js';
import type { AbandonedAcquisitions } from './cleanup/abandoned.js';
import { PollQueues } from './poll-queues.js';
import { believed, type GrantPush } from './pushes.js';
import type { Parked } from './conditions/parked.js';
import { type AcquireRequest, Call, endOfWait, type Limits, limitWait } from './call.js';
import { Acquisition } from './acquisition.js';
import { ReplyDelay } from './reply-delay.js';
import { mayShare, Roots } from './roots.js';
import { without } from '../store/clock-margin.js';
import { Wake } from '../store/wake-channel.js';

export interface AcquisitionsParts extends Omit<AcquireSenderParts, 'replyDelay'> {
  readonly store: Store;
  readonly watchdog: Watchdog;
  readonly abandoned: AbandonedAcquisitions;
  readonly ids: { readonly process: string; next(sleeps: number): string };
}

export class Acquisitions implements ReplyHandler {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #suspend: SuspendDetector;
  readonly #watchdog: Watchdog;
  readonly #telemetry: Telemetry;
  readonly revocations: Revocations;
  readonly abandoned: AbandonedAcquisitions;
  readonly #ids: AcquisitionsParts['ids'];
  readonly wake: Wake;
  readonly sender: AcquireSender;
  readonly #acquisitions = new Records<Acquisition>();
  readonly #queues: PollQueues;
  readonly roots: Roots;
  readonly lasting: Lasting;
  closed = false;
  readonly #limits: Limits<Acquisition> = {
    giveUp: ({ via }, error) => this.giveUp(via, error),
    ask: ({ via }) => this.sender.ask(via),
  };

  constructor(parts: AcquisitionsParts) {
    const { settings, store, ids, telemetry, watchdog } = parts;
    this.#settings = settings;
    this.#clock = settings.clock;
    this.#suspend = parts.suspend;
    this.#watchdog = watchdog;
    this.#telemetry = telemetry;
    this.revocations = new Revocations(parts.requests, parts.watchdog, settings);
    this.abandoned = parts.abandoned;
    this.#ids = ids;
    const events = { push: (push: Push) => this.#pushed(push), up: () => this.#askAll() };
    const silent = (): void => telemetry.warn('silent');
    const name = (): string => ids.process;
    this.wake = new Wake(store, this.#clock, { ...settings, name, events, silent });
    const replyDelay = new ReplyDelay();
    this.sender = new AcquireSender({ ...parts, replyDelay }, this.wake, this);
    const ask = (acquisition: Acquisition): void => this.sender.ask(acquisition);
    this.#queues = new PollQueues({ ...parts, replyDelay, wake: this.wake, replies: this, ask });
    this.lasting = new Lasting({ ...parts, wake: this.wake });
    this.roots = new Roots({
      ...{ ...parts, lasting: this.lasting, sender: this.sender },
      pending: this.#acquisitions,
      leave: (root) => this.#abandon(root),
      pollNow: (key) => this.#queues.pollNow(key),
    });
  }

  /** `null` if `wait` is 0 and the lock is not free. */
  acquire(
    request: AcquireRequest,
    isTraced: boolean = ACQUIRE.hasSubscribers !== false,
  ): Promise<Hold | null> {
    if (isTraced) {
      const telemetry = this.#telemetry.of(request.key);
      return telemetry.acquire(request, (asked) => this.acquire(asked, false));
    }
    const { key, terms } = request;
    if (this.closed && request.closing !== true) return Promise.reject(failures.closed(key));
    if (terms.signal?.aborted) return Promise.reject(aborted(key, terms.signal.reason));
    const moment = this.#suspend.moment();
    if (mayShare(request, this.#settings)) return this.roots.acquire(request, moment);
    if (this.roots.groups.ends) this.roots.groups.askNow(key);
    const id = this.#ids.next(moment.sleeps) + (request.mark ?? '');
    const acquisition = new Acquisition(this.sender, id, request, moment);
    const call = new Call(request, acquisition, moment.at);
    acquisition.call = call;
    this.#acquisitions.add(acquisition);
    limitWait(call, this.#clock, this.#limits);
    this.sender.ask(acquisition, moment);
    request.onBegun?.(() => {
      const { heard, deaf } = acquisition;
      if (deaf) this.sender.ask(acquisition);
      return deaf || !(heard || acquisition.unsent);
    });
    return call.promise;
  }

  regain(request: AcquireRequest, parked: Parked): Acquisition {
    const moment = this.#suspend.moment();
    const id = this.#ids.next(moment.sleeps);
    const acquisition = new Acquisition(this.sender, id, request, moment, undefined, parked);
    this.#acquisitions.add(acquisition);
    return acquisition;
  }

  /** It has not settled, or may still be in the store. */
  isOpen(id: string): boolean {
    return this.#acquisitions.find(id) !== undefined || this.abandoned.has(id);
  }

  /** The keys for which calls of this process wait, and how many; also for one that begins. */
  *waiting(): Iterable<readonly [key: string, count: number]> {
    yield* this.roots.waiting();
    for (const { asleep, request, queue } of this.#acquisitions.all()) {
      if (!asleep && queue === undefined) yield [request.key, 1];
    }
  }

  /** How many calls have a place in a queue of the store. */
  get queued(): number {
    return this.#queues.size;
  }

  giveUpAll(error: (key: string) => HoldfastError): void {
    // first: a lease that ends below must not make them ask anew
    this.roots.rejectBehindLeases(error);
    for (const acquisition of this.#acquisitions.all()) {
      this.giveUp(acquisition, error(acquisition.request.key));
    }
  }

  onReply(acquisition: Acquisition, reply: Answer, sent: Moment, now: Moment): void {
    switch (reply.status) {
      case 'granted':
        this.#granted(acquisition, reply, sent, now);
        break;
      case 'queued': {
        const { asksAgain } = acquisition;
        acquisition.queued(reply);
        if (!this.#moved(acquisition)) break;
        this.#queues.join(acquisition, reply.next);
        if (asksAgain) this.sender.ask(acquisition);
        break;
      }
      case 'parked':
        this.#queues.join(acquisition, Number.POSITIVE_INFINITY);
        // the waiter decided to come back after its first request
        if (acquisition.parked?.wantsBack === true) this.sender.ask(acquisition);
        break;
      case 'absent':
      case 'shared':
        this.#notParked(acquisition, reply);
        break;
      case 'refused':
        this.#end(acquisition);
        acquisition.grant(null);
        break;
      case 'full':
      case 'mismatch':
      case 'conflict':
      case 'crowded':
        this.#refused(acquisition, failures.refused(acquisition.request, reply));
    }
  }

  onLateReply(acquisition: Acquisition, status: Answer['status']): void {
    // a lease that was granted in another way is held, and not released
    if (!acquisition.settled || this.#watchdog.find(acquisition.id) !== undefined) return;
    if (status !== 'granted' && status !== 'queued' && status !== 'parked') return;
    // nor is one that a task left to the store, or to another process
    if (acquisition.hold?.root.hold.state === 'left') return;
    this.#withdraw(acquisition, true);
  }

  onStatus(acquisition: Acquisition, standing: Standing, sent: Moment, now: Micros): void {
    if (acquisition.settled) {
      if (standing.status === 'granted') this.onLateReply(acquisition, 'granted');
      return;
    }
    const local = this.#suspend.moment();
    acquisition.hear(sent, now, local.at);
    const { status } = standing;
    const counts = status === 'granted' && this.#settings.replicas === 0;
    if (counts) return this.#granted(acquisition, standing, sent, local);
    if (status === 'granted') this.#missed(acquisition);
    if (status === 'queued') this.#moved(acquisition);
    else if (status !== 'parked') this.sender.ask(acquisition);
  }

  onFailure(acquisition: Acquisition, error: unknown): void {
    if (acquisition.settled) return;
    const { parked } = acquisition;
    const isFirst = !acquisition.heard && acquisition.trouble === undefined;
    acquisition.fault(error);
    const { key } = acquisition.request;
    // a former holder keeps its place: replicas that are away may be back when it asks again
    if (isRefusal(error) && (parked === undefined || error.kind === 'refused')) {
      const refusal = failures.refusedByServer(key, error);
      if (parked !== undefined) this.#refused(acquisition, refusal);
      else if (isFirst && error.unchanged) {
        // the store has nothing of it, and would refuse its withdrawal too
        this.#leave(acquisition);
        acquisition.fail(refusal);
      } else this.giveUp(acquisition, refusal);
      return;
    }
    const { clock, unreachableAfter } = this.#settings;
    const waits = !isClosed(error) && acquisition.isPatient(clock.now(), unreachableAfter);
    if (waits) this.sender.askLater(acquisition);
    else this.giveUp(acquisition, failures.unreachable(key, error));
  }

  #moved(acquisition: Acquisition): boolean {
    acquisition.moved();
    // a caller that limits the wait itself may have ended it now
    if (acquisition.settled) return false;
    const isOver = acquisition.overdue || acquisition.abandoned;
    if (isOver) this.#abandon(acquisition)();
    return !isOver;
  }

  giveUp(acquisition: Acquisition, error: HoldfastError): void {
    this.#abandon(acquisition, error)();
  }

  /** Returns the function that withdraws it from the store. */
  #abandon(
    acquisition: Acquisition,
    error: HoldfastError = endOfWait({ request: acquisition.request, via: acquisition }),
  ): () => void {
    if (acquisition.settled) return () => undefined;
    const asked = acquisition.parked?.giveUp() ?? !acquisition.neverSent;
    this.#leave(acquisition);
    acquisition.fail(error);
    return () => asked && this.#withdraw(acquisition);
  }

  #withdraw(acquisition: Acquisition, late = acquisition.asking !== false): void {
    const { id, origin, tokens, request, hold } = acquisition;
    const { key, terms } = request;
    const followed = late || acquisition.mayBeDuplicated;
    const unpassed = hold === null || hold.root.unpassed;
    this.abandoned.leaveQueue({ key, id, origin, tokens, unpassed }, terms.ttl, followed);
  }

  /** The store has nothing of it; late duplicates may arrive. */
  #end(acquisition: Acquisition): void {
    this.#leave(acquisition);
    if (acquisition.mayBeDuplicated)
      this.abandoned.follow({ key: acquisition.request.key, id: acquisition.id });
  }

  #refused(acquisition: Acquisition, error: HoldfastError): void {
    const { parked } = acquisition;
    if (parked !== undefined) {
      if (parked.confirmed) return this.giveUp(acquisition, error);
      parked.kept = true;
    }
    this.#end(acquisition);
    acquisition.fail(error);
  }

  /** The store has no such lease, held or parked. */
  #notParked(acquisition: Acquisition, reply: ParkReply): void {
    const { parked } = acquisition;
    if (parked === undefined) return;
    const { from } = parked;
    if (reply.status === 'shared') {
      this.#refused(acquisition, failures.shared(from.key, reply.holds));
    } else if (parked.confirmed) {
      this.sender.ask(acquisition);
    } else {
      from.foundLost('gone');
      this.giveUp(acquisition, from.lossError());
    }
  }

  #pushed(push: Push): void {
    if (push.kind === 'revoke') void this.revocations.heard(push.id);
    // `GateWaiters` handles the pushes of gates; after a signal, the grant follows
    if (push.kind === 'ask') this.#asked(push.id);
    if (push.kind !== 'grant') return;
    const acquisition = this.#acquisitions.find(push.id);
    if (acquisition !== undefined) this.#pushedTo(acquisition, push);
    else if (this.#watchdog.find(push.id) === undefined) this.abandoned.refuse(push);
  }

  /**
   * The store asks for a poll, see `engine/idle.ts`. A forged push does no more: the reply allows
   * the next pause.
   */
  #asked(id: string): void {
    const acquisition = this.#acquisitions.find(id);
    if (acquisition !== undefined) this.#queues.wakeUp(acquisition.request.key);
  }

  #pushedTo(acquisition: Acquisition, pushed: GrantPush): void {
    if (acquisition.tokens?.include(pushed.token) !== true) return;
    const { claimWindow, replicas, clockMargin } = this.#settings;
    const push = { ...pushed, left: without(pushed.left, clockMargin) };
    const now = this.#suspend.moment();
    const grant = believed(push, acquisition, this.#suspend, now, claimWindow);
    acquisition.pushed = true;
    acquisition.asksAgain = acquisition.asking === 'sent';
    if (grant === undefined || replicas > 0) this.sender.ask(acquisition);
    else this.#deliver(acquisition, grant, now.at, 'push');
  }

  /** Pushes may be lost, and the store must learn the channel. */
  #askAll(): void {
    for (const acquisition of this.#acquisitions.all()) this.sender.ask(acquisition);
  }

  #granted(acquisition: Acquisition, reply: Granted, sent: Moment, now: Moment): void {
    const { fence, handOffs, holds } = reply;
    const left = reply.left / 1000;
    const sentAt = this.#suspend.toLocal(sent, now);
    const validUntil = sentAt + left - drift(left);
    if (validUntil > now.at) {
      const grant = { fence, handOffs, holds, validUntil };
      const how = acquisition.ticket === 0 ? undefined : 'poll';
      if (how === 'poll' && this.#settings.replicas === 0) this.#missed(acquisition);
      this.#deliver(acquisition, grant, now.at, how);
    } else if (sentAt === Number.NEGATIVE_INFINITY) {
      // after a suspend, only the store knows the remaining time
      this.sender.ask(acquisition);
    } else if (acquisition.tooLate(reply.left)) {
      const { key, terms } = acquisition.request;
      this.giveUp(acquisition, failures.tooSlow(key, terms.ttl));
    } else {
      this.sender.askLater(acquisition);
    }
  }

  #missed({ channel, id, pushed, request }: Acquisition): void {
    if (channel !== '' && !pushed) this.wake.missed(request.key, id);
  }

  #deliver(acquisition: Acquisition, grant: Grant, now: number, how?: HandOffMessage['how']): void {
    const telemetry = this.#telemetry.of(acquisition.request.key);
    const root = acquisition.root(telemetry, grant, now);
    const { hold } = root;
    if (how !== undefined) telemetry.granted(hold, how);
    else telemetry.acquisitions += 1;
    this.#leave(acquisition);
    if (!this.lasting.begun) this.lasting.begin();
    const claimed = hold.state === 'held' ? this.#watchdog.add(root, now) : undefined;
    acquisition.grant(
      hold,
      claimed?.then(() => this.abandoned.refuseEnded(hold)),
    );
  }

  /**
   * Leases that were ended by force. A root with an owner may be one of them under another name.
   */
  revoked(key: string, ended: readonly string[]): void {
    for (const root of this.#watchdog.all()) {
      if (root.key !== key || !(root.owner !== '' || ended.includes(root.id))) continue;
      void this.revocations.heard(root.id);
    }
  }

  #leave(acquisition: Acquisition): void {
    this.#acquisitions.remove(acquisition);
    if (acquisition.polled !== undefined) this.#queues.leave(acquisition);
  }
}
