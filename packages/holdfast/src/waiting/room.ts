/**
 * The waiting room: everything that this process has asked of a store and not yet been granted, and
 * how a grant becomes a lease here.
 *
 * A request that finds the lock free costs one command and nothing else. One that does not leaves
 * its waiter in the store's queue and here, and the first such waiter opens the wake channel. From
 * then on a grant comes by push, and is believed from the moment at which the store made it, told
 * on our clock: the waiter's last answer ties the two clocks (I7). Whatever is granted and finds
 * nobody is given back (I6).
 */
import type { Clock } from '../clock.js';
import type { AcquireReply, Granted, Micros, Push, Standing } from '../engine/types.js';
import type { HoldfastError } from '../errors.js';
import { drift, type Grant, Grip } from '../lease/grip.js';
import type { Keeper } from '../lease/keeper.js';
import type { Moment, Sleep } from '../lease/sleep.js';
import type { Settings } from '../options.js';
import { type Store, StoreFailure } from '../store/port.js';
import { Asker, type AskerParts, type Hearing } from './asker.js';
import type { Echoes } from './echoes.js';
import * as failures from './failures.js';
import { Line } from './line.js';
import type { Returns } from './returns.js';
import { Waiter, type Wanted } from './waiter.js';
import { Wake } from './wake.js';

/** Most acquisitions that are remembered after they were given up. */
const GIVEN_UP_MAX = 1000;

export interface RoomParts extends AskerParts {
  readonly store: Store;
  readonly keeper: Keeper;
  readonly returns: Returns;
  readonly ids: { readonly process: string; next(): string };
}

export class Room implements Hearing {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #sleep: Sleep;
  readonly #keeper: Keeper;
  readonly #returns: Returns;
  readonly #echoes: Echoes;
  readonly #nextId: () => string;
  readonly #wake: Wake;
  readonly #asker: Asker;
  readonly #waiters = new Map<string, Waiter>();
  readonly #lines = new Map<string, Line>();
  /** Keys of acquisitions that were given up lately: a grant may still come for them. */
  readonly #givenUp = new Map<string, string>();

  constructor(parts: RoomParts) {
    const { settings, store, ids } = parts;
    this.#settings = settings;
    this.#clock = settings.clock;
    this.#sleep = parts.sleep;
    this.#keeper = parts.keeper;
    this.#returns = parts.returns;
    this.#echoes = parts.echoes;
    this.#nextId = () => ids.next();
    const events = { push: (push: Push) => this.#pushed(push), up: () => this.#askAll() };
    const { linger } = settings;
    this.#wake = new Wake(store, settings.clock, { name: ids.process, linger, events });
    this.#asker = new Asker(parts, this.#wake, this);
  }

  /** Acquisitions that are not settled. */
  get size(): number {
    return this.#waiters.size;
  }

  line(key: string): Line | undefined {
    return this.#lines.get(key);
  }

  /** Resolves to a grip, or to `null` if there is no time to wait and the lock is not free. */
  acquire(wanted: Wanted): Promise<Grip | null> {
    const { key, terms } = wanted;
    const { wait, signal } = terms;
    if (signal?.aborted) return Promise.reject(failures.aborted(key, signal.reason));
    const waiter = new Waiter(this.#nextId(), wanted, this.#sleep.moment());
    this.#waiters.set(waiter.id, waiter);
    if (wait > 0 && wait !== Number.POSITIVE_INFINITY) {
      const late = (): void => this.#giveUp(waiter, failures.timedOut(key, wait));
      const timer = this.#clock.after(wait, late);
      waiter.cleanUp(() => timer.cancel());
    }
    if (signal !== undefined) {
      const abort = (): void => this.#giveUp(waiter, failures.aborted(key, signal.reason));
      signal.addEventListener('abort', abort, { once: true });
      waiter.cleanUp(() => signal.removeEventListener('abort', abort));
    }
    void this.#asker.ask(waiter);
    return waiter.promise;
  }

  /** Makes a waiter a holder without asking the store: the lease of `from` is passed on to it. */
  passOn(from: Grip, waiter: Waiter): Grip {
    const { fence, passes, validUntil, since } = from;
    const grant = { fence: fence + 1, passes: passes - 1, holds: 1, validUntil, since };
    const grip = this.#deliver(waiter, grant);
    grip.confirmed = false;
    return grip;
  }

  /** An acquisition is over, and a request for it may still arrive. */
  follow(key: string, id: string): void {
    this.#remember(key, id);
    this.#echoes.follow(key, id);
  }

  /**
   * Tells the store that an acquisition wants nothing any more.
   * @param echoes whether a request for it may still arrive
   */
  withdraw(key: string, id: string, ttl: number, echoes: boolean): void {
    if (echoes) this.follow(key, id);
    else this.#remember(key, id);
    const until = this.#clock.now() + ttl + this.#settings.requestTimeout;
    void this.#returns.giveBack({ key, id, to: '', until });
  }

  #remember(key: string, id: string): void {
    this.#givenUp.set(id, key);
    if (this.#givenUp.size > GIVEN_UP_MAX) {
      this.#givenUp.delete(this.#givenUp.keys().next().value as string);
    }
  }

  /** Ends all waiting. */
  giveUpAll(error: (key: string) => HoldfastError): void {
    for (const waiter of [...this.#waiters.values()]) {
      this.#giveUp(waiter, error(waiter.wanted.key));
    }
  }

  /** Closes the wake channel. */
  close(): Promise<void> {
    return this.#wake.close();
  }

  answered(waiter: Waiter, reply: AcquireReply, sent: Moment): void {
    waiter.hear(sent, reply.now, this.#clock.now());
    switch (reply.status) {
      case 'granted':
        this.#granted(waiter, reply, sent);
        break;
      case 'queued':
        waiter.ticket = reply.ticket;
        this.#wait(waiter, reply.next);
        break;
      case 'refused':
        this.#refused(waiter);
        waiter.grant(null);
        break;
      case 'full':
      case 'mismatch':
      case 'conflict':
        this.#refused(waiter);
        waiter.fail(failures.refused(waiter.wanted, reply));
    }
  }

  #refused(waiter: Waiter): void {
    this.#leave(waiter);
    if (waiter.echoes) this.follow(waiter.wanted.key, waiter.id);
  }

  late(waiter: Waiter, status: AcquireReply['status']): void {
    // what was granted in another way meanwhile is held, and not to be given back
    if (!waiter.settled || this.#keeper.find(waiter.id) !== undefined) return;
    if (status !== 'granted' && status !== 'queued') return;
    // nor is what was left to the store
    if (waiter.grip?.left === true) return;
    this.withdraw(waiter.wanted.key, waiter.id, waiter.wanted.terms.ttl, true);
  }

  stands(waiter: Waiter, standing: Standing, sent: Moment, now: Micros): void {
    if (waiter.settled) {
      if (standing.status === 'granted') this.late(waiter, 'granted');
      return;
    }
    waiter.hear(sent, now, this.#clock.now());
    if (standing.status === 'granted') this.#granted(waiter, standing, sent);
    else if (standing.status === 'absent') void this.#asker.ask(waiter);
  }

  failed(waiter: Waiter, error: unknown): void {
    if (waiter.settled) return;
    const { key, terms } = waiter.wanted;
    if (error instanceof StoreFailure && error.answered && !failures.mayPass(error)) {
      this.#giveUp(waiter, failures.refusedByServer(key, error));
      return;
    }
    const silent = this.#clock.now() - waiter.heardAt;
    if (terms.wait === 0 || silent >= this.#settings.unreachableAfter) {
      this.#giveUp(waiter, failures.unreachable(key, error));
    } else {
      this.#asker.askLater(waiter);
    }
  }

  /** Ends the waiting without a grant, here and in the store. */
  #giveUp(waiter: Waiter, error: HoldfastError): void {
    if (waiter.settled) return;
    this.#leave(waiter);
    waiter.fail(error);
    const echoes = waiter.echoes || waiter.asking;
    this.withdraw(waiter.wanted.key, waiter.id, waiter.wanted.terms.ttl, echoes);
  }

  #pushed(push: Push): void {
    if (push.kind !== 'grant') {
      const grip = this.#keeper.find(push.id);
      // who was signalled need do nothing: the grant will come
      if (push.kind === 'revoke' && grip !== undefined) this.#keeper.lose(grip, 'forced');
      return;
    }
    const waiter = this.#waiters.get(push.id);
    if (waiter === undefined) {
      this.#refuse(push.id);
      return;
    }
    const now = this.#clock.now();
    const grantedAt = Math.min(waiter.localTime(this.#sleep, push.now), now);
    const left = push.left / 1000;
    const validUntil = grantedAt + left - drift(left);
    const { fence, passes, holds } = push;
    const stale = waiter.isStale(this.#sleep, now, this.#settings.claimWindow);
    if (validUntil > now && !stale) {
      this.#deliver(waiter, { fence, passes, holds, validUntil, since: now });
    } else {
      void this.#asker.ask(waiter);
    }
  }

  /** A grant finds nobody: its acquisition was given up, unless it was granted here already. */
  #refuse(id: string): void {
    const key = this.#givenUp.get(id);
    if (key === undefined || this.#keeper.find(id) !== undefined) return;
    this.withdraw(key, id, this.#settings.claimWindow, false);
  }

  /** Pushes may have been lost, and the store should know the channel. */
  #askAll(): void {
    for (const waiter of this.#waiters.values()) void this.#asker.ask(waiter);
  }

  #granted(waiter: Waiter, reply: Granted, sent: Moment): void {
    const { fence, passes, holds } = reply;
    const left = reply.left / 1000;
    const sentAt = this.#sleep.told(sent);
    const validUntil = sentAt + left - drift(left);
    const since = this.#clock.now();
    if (validUntil > since) {
      this.#deliver(waiter, { fence, passes, holds, validUntil, since });
    } else if (sentAt === Number.NEGATIVE_INFINITY) {
      // the machine slept since: only the store knows how much is left
      void this.#asker.ask(waiter);
    } else if (waiter.wanted.terms.wait === 0) {
      // too slow an answer: what it granted has ended
      this.#giveUp(waiter, failures.unreachable(waiter.wanted.key, undefined));
    } else {
      this.#asker.askLater(waiter);
    }
  }

  #deliver(waiter: Waiter, grant: Grant): Grip {
    const { key, weight, terms } = waiter.wanted;
    const grip = new Grip(this.#clock, { key, id: waiter.id, weight, terms }, grant);
    grip.echoes = waiter.echoes || waiter.asking;
    this.#leave(waiter);
    grip.left = waiter.wanted.stays === true;
    if (!grip.left) this.#keeper.add(grip);
    waiter.grant(grip);
    return grip;
  }

  #wait(waiter: Waiter, next: Micros): void {
    const { key } = waiter.wanted;
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new Line(key, this.#clock, (due) => void this.#asker.poll(due));
      this.#lines.set(key, line);
    }
    if (line.add(waiter)) this.#wake.enter();
    // the channel came up while this request was on its way
    if (waiter.channel !== this.#wake.channel) void this.#asker.ask(waiter);
    line.plan(next, this.#asker.period([waiter]));
  }

  #leave(waiter: Waiter): void {
    this.#waiters.delete(waiter.id);
    const line = this.#lines.get(waiter.wanted.key);
    if (line === undefined || !line.remove(waiter)) return;
    if (line.size === 0) this.#lines.delete(line.key);
    this.#wake.leave();
  }
}
