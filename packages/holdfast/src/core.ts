/**
 * Everything that one `Holdfast` keeps in this process, put together: requests, keeper, waiting
 * room, wake channel; and what all primitives need of it: acquire, release, close.
 */
import { hostname } from 'node:os';
import type { Clock } from './clock.js';
import { HoldfastError } from './errors.js';
import { Ids } from './ids.js';
import type { Grip } from './lease/grip.js';
import { Keeper } from './lease/keeper.js';
import type { Grantor, ReleaseOutcome } from './lease/lease.js';
import { Sleep } from './lease/sleep.js';
import type { Settings } from './options.js';
import type { Store } from './store/port.js';
import { Requests } from './store/requests.js';
import { Echoes } from './waiting/echoes.js';
import * as failures from './waiting/failures.js';
import { GateDesk } from './waiting/gate-desk.js';
import { GateRoom } from './waiting/gate-room.js';
import { Returns, type Returned } from './waiting/returns.js';
import { Room } from './waiting/room.js';
import type { Sleeper } from './waiting/sleeper.js';
import type { Wanted } from './waiting/waiter.js';
import { withdrawal } from './waiting/withdrawal.js';
import { quote } from './text.js';

/** Labels whose text for the store is remembered. */
const LABELS_MAX = 100;

export class Core implements Grantor {
  readonly settings: Settings;
  readonly store: Store;
  readonly requests: Requests;
  readonly keeper: Keeper;
  readonly gates: GateRoom;
  readonly gateDesk: GateDesk;
  readonly #ids: Ids;
  readonly #returns: Returns;
  readonly #echoes: Echoes;
  readonly #room: Room;
  readonly #metas = new Map<string, string>();
  readonly #closers = new Set<() => void>();
  #closing: Promise<void> | undefined;

  constructor(store: Store, settings: Settings) {
    const { chance, clock, requestTimeout, retention } = settings;
    const ids = new Ids(chance, clock);
    this.#ids = ids;
    this.settings = settings;
    this.store = store;
    this.requests = new Requests(store, clock, requestTimeout);
    const sleep = new Sleep(clock);
    this.keeper = new Keeper(this.requests, sleep, settings);
    this.#returns = new Returns(this.requests, clock);
    this.#echoes = new Echoes(this.requests, clock, retention, this.#returns);
    this.#room = new Room({
      settings,
      store,
      ids,
      requests: this.requests,
      sleep,
      keeper: this.keeper,
      returns: this.#returns,
      echoes: this.#echoes,
      meta: (label) => this.#meta(label),
    });
    this.gateDesk = new GateDesk(settings, this.requests);
    this.gates = new GateRoom({
      settings,
      requests: this.requests,
      desk: this.gateDesk,
      wake: this.#room.wake,
      nextId: () => ids.next(sleep.count),
    });
  }

  /** Unique to this instance. */
  get id(): string {
    return this.#ids.process;
  }

  get clock(): Clock {
    return this.settings.clock;
  }

  /** Acquisitions that wait for an answer or for the lock, and all that wait at gates. */
  get waiting(): number {
    return this.#room.size + this.gates.size;
  }

  /** Resolves to a grip, or to `null` if there is no time to wait and the lock is not free. */
  async grip(wanted: Wanted): Promise<Grip | null> {
    if (this.#closing !== undefined) throw failures.closed(wanted.key);
    return this.#room.acquire(wanted);
  }

  /** Gives a lease up, to wait for a signal. Nothing is sent before it is asked for. */
  park(from: Grip, condition: string): Sleeper {
    if (this.#closing !== undefined) throw failures.closed(from.key);
    // the store takes its reserved fences back, and if it refuses, a duplicate may yet be granted
    from.passes = 0;
    return this.#room.park(from, condition, () => {
      if (from.state === 'held') from.state = 'released';
      this.keeper.remove(from);
      if (from.echoes) this.#room.givenUp.follow(from);
    });
  }

  /** Opens the connection for wake-ups, and keeps it until this closes. */
  async warmUp(): Promise<void> {
    const { wake } = this.#room;
    const { clock, unreachableAfter } = this.settings;
    if (this.#closing === undefined) await within(clock, unreachableAfter, wake.warmUp());
    if (wake.channel === '') throw failures.notWarm(this.#closing !== undefined, wake.failure);
  }

  /** Asks for what a sleeper wants. */
  ask(sleeper: Sleeper): void {
    this.#room.ask(sleeper);
  }

  /** Gives the coming back of a sleeper up. */
  abandon(sleeper: Sleeper): void {
    const { from, ready } = sleeper;
    sleeper.leave();
    this.#room.giveUp(sleeper, failures.releasedAsleep(sleeper.wanted.key));
    // nothing was asked for it, so there is the lease to give back
    if (!ready) this.#room.givenUp.withdraw(from, from.terms.ttl, from.echoes);
  }

  async release(grip: Grip): Promise<ReleaseOutcome> {
    const { keeper, settings } = this;
    const { key, id } = grip;
    const believed = keeper.believes(grip);
    if (grip.state !== 'held') {
      // the server may hold it for a little longer than we believed
      const { unpassed } = grip;
      this.#room.givenUp.withdraw({ key, id, unpassed }, grip.terms.ttl, grip.echoes);
      return 'lost';
    }
    const line = believed && !this.#returns.has(id) ? this.#room.lines.get(key) : undefined;
    const successor = line?.successor(grip, settings.claimWindow);
    grip.state = 'released';
    keeper.remove(grip);
    const heir = successor && this.#room.passOn(grip, successor);
    const until = grip.endsBy + settings.requestTimeout;
    const to = heir?.id ?? '';
    const { unpassed } = grip;
    const { retention } = settings;
    const command = { op: 'release', key, id, to, unpassed, retention } as const;
    const what = { id, command, until, after: grip.settled };
    const settling = heir && this.#settling(heir);
    const returning = this.#returns.giveBack(what, (answer) => {
      grip.answered = answer !== undefined;
      settling?.(answer);
    });
    // behind the release that passes the lease on
    if (heir !== undefined) void keeper.claim(heir);
    const returned = await returning;
    if (grip.echoes) this.#room.givenUp.follow({ key, id });
    const result = outcome(key, returned);
    if (result === 'kept') keeper.owned.counted(grip, returned?.holds ?? 0);
    if (result === 'lost' && grip.reason === undefined) grip.foundLost('gone');
    if (returned?.status === 'absent') this.#room.revocations.foundLost(grip);
    return result;
  }

  /**
   * Gives back an acquisition that this process knows by its id only, whoever made it.
   * @param ms how long there is something to give back
   */
  async end(key: string, id: string, ms: number): Promise<ReleaseOutcome> {
    const grip = this.keeper.find(id);
    if (grip !== undefined) {
      const releasing = this.release(grip);
      // its holder did not release it, and is told
      if (grip.state === 'released') grip.foundLost('unlocked');
      return releasing;
    }
    const until = this.clock.now() + ms + this.settings.requestTimeout;
    const command = withdrawal({ key, id }, this.settings.retention);
    return outcome(key, await this.#returns.giveBack({ id, command, until }));
  }

  /**
   * Leaves a lease to the store: it is neither renewed nor released from here on, and ends there by
   * itself.
   */
  leave(grip: Grip): void {
    if (grip.state === 'held') grip.state = 'released';
    grip.left = true;
    this.keeper.remove(grip);
  }

  /**
   * Calls back once when closing begins, before anything is ended; at once, if it has begun.
   * Returns what takes that back.
   */
  onClose(callback: () => void): () => void {
    if (this.#closing === undefined) this.#closers.add(callback);
    else callback();
    return () => void this.#closers.delete(callback);
  }

  /** Callbacks that wait for `close`. */
  get closers(): number {
    return this.#closers.size;
  }

  /** Gives up what a waiting acquisition or a lease has, and ends for good. */
  close(grace: number): Promise<void> {
    this.#closing ??= this.#close(grace);
    return this.#closing;
  }

  async #close(grace: number): Promise<void> {
    const { clock, keeper, settings } = this;
    // in a later turn, when it is known here that this closes
    await Promise.resolve();
    for (const tell of this.#closers) tell();
    this.#closers.clear();
    this.#room.giveUpAll(failures.closed);
    this.gates.close();
    this.gateDesk.close();
    await within(clock, grace, keeper.empty());
    for (const grip of [...keeper.all()]) {
      keeper.lose(grip, 'closed');
      // what has to stay for some time ends by itself
      grip.left = clock.now() < grip.keepUntil;
      if (grip.left) continue;
      this.#room.givenUp.withdraw(grip, grip.terms.ttl, false);
    }
    const settled = Promise.all([this.#returns.settled(), this.gateDesk.settled()]);
    await within(clock, 2 * settings.requestTimeout, settled);
    this.#returns.stop();
    this.#echoes.stop();
    this.gateDesk.stop();
    this.requests.close();
    this.keeper.close();
    // a connection that is being opened to a server that is silent closes when it gives up
    await within(clock, 2 * settings.requestTimeout, this.#room.close());
  }

  /** Hears the store's word on a lease that was passed on here before it was asked. */
  #settling(heir: Grip): (returned: Returned | undefined) => void {
    let settled = (): void => undefined;
    heir.settled = new Promise((resolve) => {
      settled = resolve;
    });
    return (returned) => {
      heir.settled = undefined;
      if (returned?.status === 'passed') heir.confirmed = true;
      else this.keeper.lose(heir, 'gone');
      // what gave it back before may have overtaken the pass
      if (heir.state === 'lost' || heir.answered) {
        this.#room.givenUp.withdraw(heir, heir.terms.ttl, true);
      }
      settled();
    };
  }

  #meta(label: string): string {
    let meta = this.#metas.get(label);
    if (meta === undefined) {
      meta = JSON.stringify({ host: hostname(), pid: process.pid, ...(label && { label }) });
      if (this.#metas.size >= LABELS_MAX) this.#metas.clear();
      this.#metas.set(label, meta);
    }
    return meta;
  }
}

function outcome(key: string, returned: Returned | undefined): ReleaseOutcome {
  switch (returned?.status) {
    case 'freed':
    case 'passed':
      return 'freed';
    case 'kept':
      return 'kept';
    case 'absent':
    case 'dequeued':
      // we held it when we asked, so an earlier try that was not answered has freed it
      return returned.repeated ? 'freed' : 'lost';
    case undefined: {
      const message = `Holdfast: no answer to the release of ${quote(key)}; it is tried further`;
      throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key });
    }
  }
}

async function within(clock: Clock, ms: number, promise: Promise<unknown>): Promise<void> {
  if (ms === 0) return;
  let cancel = (): void => undefined;
  const limit = new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve);
    cancel = () => timer.cancel();
  });
  await Promise.race([promise, limit]);
  cancel();
}
