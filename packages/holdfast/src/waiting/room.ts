/**
 * The waiting room: everything that this process has asked of a store and not yet been granted, and
 * how a grant becomes a lease here.
 *
 * A request that finds the lock free costs one command. One that does not leaves its waiter in the
 * store's queue and here; the first such waiter opens the wake channel. From then on grants come by
 * push. A deadline starts at the store's grant time, converted to the local clock with the waiter's
 * last reply (I7). Grants for abandoned acquisitions are released (I6).
 */
import type { Clock } from '../clock.js';
import type { Granted, Micros, ParkReply, Push, Standing } from '../engine/types.js';
import type { HoldfastError } from '../errors.js';
import { drift, type Grant, Grip } from '../lease/grip.js';
import type { Keeper } from '../lease/keeper.js';
import { Revocations } from '../lease/revocations.js';
import type { Moment, Sleep } from '../lease/sleep.js';
import type { Settings } from '../options.js';
import { type Store, StoreFailure } from '../store/port.js';
import { type Answer, Asker, type AskerParts, type Hearing } from './asker.js';
import * as failures from './failures.js';
import { GivenUp } from './given-up.js';
import { Lines } from './lines.js';
import { believed, type GrantPush } from './pushes.js';
import type { Returns } from './returns.js';
import { Sleeper } from './sleeper.js';
import { endOfWait, limitWait } from './wait-limit.js';
import { Waiter, type Wanted } from './waiter.js';
import { Wake } from './wake.js';

export interface RoomParts extends AskerParts {
  readonly store: Store;
  readonly keeper: Keeper;
  readonly returns: Returns;
  readonly ids: { readonly process: string; next(sleeps: number): string };
}

export class Room implements Hearing {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #sleep: Sleep;
  readonly #keeper: Keeper;
  readonly revocations: Revocations;
  readonly givenUp: GivenUp;
  readonly #nextId: () => string;
  readonly wake: Wake;
  readonly #asker: Asker;
  readonly #waiters = new Map<string, Waiter>();
  readonly lines: Lines;

  constructor(parts: RoomParts) {
    const { settings, store, ids } = parts;
    this.#settings = settings;
    this.#clock = settings.clock;
    this.#sleep = parts.sleep;
    this.#keeper = parts.keeper;
    this.revocations = new Revocations(parts.requests, parts.keeper, settings);
    this.givenUp = new GivenUp(settings, parts.returns, parts.echoes);
    this.#nextId = () => ids.next(parts.sleep.count);
    const events = { push: (push: Push) => this.#pushed(push), up: () => this.#askAll() };
    this.wake = new Wake(store, this.#clock, { ...settings, name: () => ids.process, events });
    this.#asker = new Asker(parts, this.wake, this);
    this.lines = new Lines(this.#clock, this.wake, this.#asker);
  }

  /** Acquisitions that are not settled. */
  get size(): number {
    return this.#waiters.size;
  }

  /** Resolves to a grip, or to `null` if there is no time to wait and the lock is not free. */
  acquire(wanted: Wanted): Promise<Grip | null> {
    const { key, terms } = wanted;
    const { signal } = terms;
    if (signal?.aborted) return Promise.reject(failures.aborted(key, signal.reason));
    const waiter = new Waiter(this.#nextId(), wanted, this.#sleep.moment());
    this.#waiters.set(waiter.id, waiter);
    limitWait(waiter, this.#clock, (late, error) => this.giveUp(late, error));
    void this.#asker.ask(waiter);
    return waiter.promise;
  }

  /** Gives a lease up, and waits for a signal, once it is asked. `left` as in `Sleeper`. */
  park(from: Grip, condition: string, left: () => void): Sleeper {
    const sleeper = new Sleeper(this.#nextId(), from, condition, left, this.#sleep.moment());
    this.#waiters.set(sleeper.id, sleeper);
    return sleeper;
  }

  ask(sleeper: Sleeper): void {
    void this.#asker.ask(sleeper);
  }

  /** Makes a waiter a holder without asking the store: the lease of `from` is passed on to it. */
  passOn(from: Grip, waiter: Waiter): Grip {
    return this.#deliver(waiter, from.passOn(waiter.wanted.terms.ttl), false);
  }

  /** Ends all waiting. */
  giveUpAll(error: (key: string) => HoldfastError): void {
    for (const waiter of [...this.#waiters.values()]) {
      this.giveUp(waiter, error(waiter.wanted.key));
    }
  }

  /** Closes the wake channel. */
  close(): Promise<void> {
    return this.wake.close();
  }

  answered(waiter: Waiter, reply: Answer, sent: Moment): void {
    waiter.hear(sent, reply.now, this.#clock.now());
    switch (reply.status) {
      case 'granted':
        this.#granted(waiter, reply, sent);
        break;
      case 'queued':
        waiter.ticket = reply.ticket;
        waiter.moved();
        if (waiter.overdue) this.giveUp(waiter, endOfWait(waiter));
        else this.lines.join(waiter, reply.next);
        break;
      case 'parked':
        this.lines.join(waiter, Number.POSITIVE_INFINITY);
        // the wish came after the question
        if ((waiter as Sleeper).wantsBack) void this.#asker.ask(waiter);
        break;
      case 'absent':
      case 'shared':
        this.#notParked(waiter as Sleeper, reply);
        break;
      case 'refused':
        this.#end(waiter);
        waiter.grant(null);
        break;
      case 'full':
      case 'mismatch':
      case 'conflict':
      case 'crowded':
        this.#refused(waiter, failures.refused(waiter.wanted, reply));
    }
  }

  late(waiter: Waiter, status: Answer['status']): void {
    // what was granted in another way meanwhile is held, and not to be given back
    if (!waiter.settled || this.#keeper.find(waiter.id) !== undefined) return;
    if (status !== 'granted' && status !== 'queued' && status !== 'parked') return;
    // nor is what was left to the store
    if (waiter.grip?.left === true) return;
    this.#withdraw(waiter, true);
  }

  stands(waiter: Waiter, standing: Standing, sent: Moment, now: Micros): void {
    if (waiter.settled) {
      if (standing.status === 'granted') this.late(waiter, 'granted');
      return;
    }
    waiter.hear(sent, now, this.#clock.now());
    if (standing.status === 'granted') this.#granted(waiter, standing, sent);
    else if (standing.status === 'queued') waiter.moved();
    else if (standing.status === 'absent') void this.#asker.ask(waiter);
  }

  failed(waiter: Waiter, error: unknown): void {
    if (waiter.settled) return;
    waiter.fault(error);
    const { key, terms } = waiter.wanted;
    if (error instanceof StoreFailure && error.answered && !failures.mayPass(error)) {
      const refusal = failures.refusedByServer(key, error);
      if (waiter instanceof Sleeper) this.#refused(waiter, refusal);
      else this.giveUp(waiter, refusal);
      return;
    }
    const silent = this.#clock.now() - waiter.heardAt;
    const last = terms.wait === 0 || waiter.overdue;
    if (last || silent >= this.#settings.unreachableAfter) {
      this.giveUp(waiter, failures.unreachable(key, error));
    } else {
      this.#asker.askLater(waiter);
    }
  }

  /** Ends the waiting without a grant, here and in the store. */
  giveUp(waiter: Waiter, error: HoldfastError): void {
    if (waiter.settled) return;
    const asked = !(waiter instanceof Sleeper) || waiter.giveUp();
    this.#leave(waiter);
    waiter.fail(error);
    if (!asked) return;
    this.#withdraw(waiter, waiter.echoes || waiter.asking);
  }

  #withdraw({ id, origin, tokens, wanted, grip }: Waiter, echoes: boolean): void {
    const { key, terms } = wanted;
    const unpassed = grip === null || grip.unpassed;
    this.givenUp.leaveQueue({ key, id, origin, tokens, unpassed }, terms.ttl, echoes);
  }

  /** Leaves with nothing; what was asked may arrive once more. */
  #end(waiter: Waiter): void {
    this.#leave(waiter);
    if (waiter.echoes) this.givenUp.follow({ key: waiter.wanted.key, id: waiter.id });
  }

  /** The store said no. Who was to be parked, and was not, has its lease still. */
  #refused(waiter: Waiter, error: HoldfastError): void {
    if (waiter instanceof Sleeper) {
      if (waiter.parked) return this.giveUp(waiter, error);
      waiter.kept = true;
    }
    this.#end(waiter);
    waiter.fail(error);
  }

  #notParked(sleeper: Sleeper, reply: ParkReply): void {
    const { from } = sleeper;
    if (reply.status === 'shared') {
      this.#refused(sleeper, failures.shared(from.key, reply.holds));
    } else if (sleeper.parked) {
      void this.#asker.ask(sleeper);
    } else {
      from.foundLost('gone');
      this.giveUp(sleeper, from.lossError());
    }
  }

  #pushed(push: Push): void {
    if (push.kind === 'revoke') void this.revocations.heard(push.id);
    // a gate's push is the gate room's; after a signal the grant will come
    if (push.kind !== 'grant') return;
    const waiter = this.#waiters.get(push.id);
    if (waiter !== undefined) this.#pushedTo(waiter, push);
    else if (this.#keeper.find(push.id) === undefined) this.givenUp.refuse(push);
  }

  #pushedTo(waiter: Waiter, push: GrantPush): void {
    if (!waiter.tokens.include(push.token)) return;
    const grant = believed(
      push,
      waiter,
      this.#sleep,
      this.#clock.now(),
      this.#settings.claimWindow,
    );
    if (grant === undefined) void this.#asker.ask(waiter);
    else this.#deliver(waiter, grant);
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
    } else if (waiter.tooLate()) {
      this.giveUp(waiter, failures.tooSlow(waiter.wanted.key, waiter.wanted.terms.ttl));
    } else {
      this.#asker.askLater(waiter);
    }
  }

  /** @param confirmed false if the store has not been told of it */
  #deliver(waiter: Waiter, grant: Grant, confirmed = true): Grip {
    const { key, weight, terms } = waiter.wanted;
    const grip = new Grip(this.#clock, { key, id: waiter.id, weight, terms }, grant);
    grip.echoes = waiter.echoes || waiter.asking;
    grip.origin = waiter.origin;
    this.#leave(waiter);
    grip.confirmed = confirmed;
    grip.left = waiter.wanted.stays === true;
    if (grip.left) waiter.grant(grip);
    else waiter.grant(grip, this.#keeper.add(grip));
    return grip;
  }

  #leave(waiter: Waiter): void {
    this.#waiters.delete(waiter.id);
    this.lines.leave(waiter);
  }
}
