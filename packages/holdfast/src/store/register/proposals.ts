/**
 * The commands of this process on one key, as proposals to a register ([decision
 * 11](../../../../../docs/decisions/0011-register-store.md)).
 *
 *     idle --command--> proposing --swapped, unchanged, failed--> proposing (more commands) or idle
 *                          ^  \--another process was first--> waiting
 *                          \-------- after a pause -------------/
 *
 * One proposal reads the state, applies all waiting commands, and swaps the state; if another
 * process was first, again on the new state. So each command is applied exactly once, or its
 * outcome is unknown, as an unanswered request's; its id makes repetition harmless (I3). A proposal
 * that changes nothing needs no swap: the read answers the commands that came before it began.
 *
 * After a swap, the state and its version are kept, so the next proposal needs no read, and would
 * win every race: a process that lost some overtakes it (`Register.overtake`).
 */
import type { Clock } from '../../base/clock.js';
import type { KeyCommand, KeyReply } from '../../engine/commands.js';
import { StoreFailure } from '../port.js';
import type { Errand, PeerRegister, PeerVersioned, Taken } from './peers.js';
import type { HandedOver, Versioned } from './register.js';
import { applyAll, type Applied, applyToLiving } from './apply.js';
import { broughtTo, Current, loadedFrom } from './current.js';
import { fencesOf, hasGrant } from './held-back.js';
import { checkedSwapped, checkedVersioned } from './checked.js';
import { isFree, isTaken, isUrgent, Patience, RIDE_MS, successorOf } from './patience.js';
import { pauseMsAfter, yieldMsAfter } from './pauses.js';
import {
  answerAll,
  answersTo,
  dropLate,
  failureOf,
  hindered,
  leavingOf,
  mayLeave,
  mayYield,
  messagesOf,
  type Pending,
  UNAWAITED,
} from './pending.js';
import { type Answering, LeftCommands } from './left-commands.js';
import { heldUntil, KEEP_MS, keepMsFor } from './keeping.js';
import { boundsOf, latestOf } from './known-time.js';
import type { Turns } from './turns.js';
import { Unchanging } from './unchanging.js';
import { tellsGrant, unheard } from './unheard.js';
import { encode, fenceOf, forgetAt } from './state-codec.js';

const BATCH_MAX = 2000;
/** The commands of a proposal fail after so many lost races. */
const ATTEMPTS_MAX = 100;
/** After so many lost races, a proposal overtakes others, if the register can. */
const LOST_MAX = 2;

export interface ProposalParts {
  readonly register: PeerRegister;
  readonly turns: Turns;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly fraction: () => number;
  readonly stateMax: number;
  readonly busy: Set<Proposals>;
}

export class Proposals {
  readonly #parts: ProposalParts;
  readonly #name: string;
  readonly #key: string;
  #pending: Pending[] = [];
  #current: Current | undefined;
  #running = false;
  used = false;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #writers: (() => void)[] = [];
  readonly #patience = new Patience();
  #hurry: (() => void) | undefined;
  readonly #left: LeftCommands;
  readonly #unchanging: Unchanging;
  /** A read is due that looks after left commands. */
  #looks = false;

  constructor(parts: ProposalParts, name: string, key: string) {
    this.#parts = parts;
    this.#name = name;
    this.#key = key;
    this.#unchanging = new Unchanging(parts.register, name);
    this.#left = new LeftCommands(parts, {
      again: (one) => this.#add(one),
      look: () => {
        this.#looks = true;
        this.#start();
      },
    });
  }

  get idle(): boolean {
    return !this.#running;
  }

  mayBeDropped(now: number): boolean {
    if (this.#running || this.used || this.#left.isOpen) return false;
    return this.#current === undefined || now >= this.#heldUntil;
  }

  /** Resolves when all commands so far are in a swap, or answered. */
  written(): Promise<void> {
    // commands that wait for others do not count, see `#wait`
    if (!this.#running || this.#hurry !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#writers.push(resolve);
    });
  }

  add(command: KeyCommand): Promise<KeyReply> {
    const { register } = this.#parts;
    if (command.op === 'acquire') register.peers?.expects(this.#name, command.token);
    return new Promise((resolve, reject) => {
      const pending = { command, resolve, reject };
      // it must not overtake a command with its id that another process may still apply
      const left = this.#left.of(command);
      if (left === undefined) this.#add(pending);
      else void left.then(() => this.#add(pending));
    });
  }

  addLeft = (command: KeyCommand, errand: Errand): void =>
    this.#add({ command, errand, ...UNAWAITED });

  handedOver(state: Versioned): void {
    try {
      this.#current = this.#loaded(state, this.#parts.clock.now());
      this.#hurry?.();
    } catch {
      // the next read reports another version's state
    }
  }

  /** By a message. Ignored without recent bounds of the clock. */
  brought(state: HandedOver): void {
    const kept = this.#kept();
    if (kept === undefined) return;
    this.#current = broughtTo(this.#key, kept, state, this.#parts.clock.now());
  }

  #add(pending: Pending): void {
    const { command } = pending;
    this.#pending.push(pending);
    this.#patience.note(command, this.#parts.clock.now());
    if (!this.#patience.mayWait(command)) this.#hurry?.();
    this.#start();
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#parts.busy.add(this);
    // the turn's other commands join the first proposal
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0 || this.#looks) {
      this.#looks = false;
      const wait = this.#wait();
      if (wait) await wait;
      const gathering = this.#parts.register.peers?.gathering?.(this.#name);
      if (gathering) await gathering;
      const batch = this.#taken();
      try {
        const taken = await this.#propose(batch);
        if (taken !== undefined) await this.#giveWay(batch, taken);
      } catch (error) {
        this.#current = undefined;
        const failure = failureOf(error);
        for (const { reject } of batch) reject(failure);
      }
    }
    this.#running = false;
    this.#parts.busy.delete(this);
    this.#tellWriters();
  }

  #taken(): Pending[] {
    if (this.#pending.length > BATCH_MAX) return this.#pending.splice(0, BATCH_MAX);
    const batch = this.#pending;
    this.#pending = [];
    return batch;
  }

  /** Waits for a command that cannot wait, if all pending ones can. See `patience.ts`. */
  #wait(): Promise<void> | undefined {
    const { register, clock } = this.#parts;
    const current = this.#kept();
    if (register.peers === undefined) return undefined;
    if (current === undefined || !isTaken(current.engine.resource(this.#key))) return undefined;
    const mayWait = this.#pending.every(({ command }) => this.#patience.mayWait(command));
    if (this.#pending.length === 0 || !mayWait) return undefined;
    // a claim that waits here does not keep its lease from its holder
    this.#tellWriters();
    return new Promise<void>((resolve) => {
      const timer = clock.after(RIDE_MS, () => {
        this.#patience.waited(this.#pending.map(({ command }) => command));
        this.#hurry?.();
      });
      this.#hurry = () => {
        this.#hurry = undefined;
        resolve(timer.cancel());
      };
    });
  }

  /**
   * Another process is about to change the key: commands are left to it, or wait for a moment. See
   * `Unchanging` for those that need no change.
   */
  async #giveWay(batch: readonly Pending[], { left, inDoubt }: Taken): Promise<void> {
    const leaving = batch.filter((one) => left !== undefined && mayLeave(one));
    leaving.forEach((one, at) => {
      // the answer to a third process' command goes there
      if (one.errand === undefined) this.#left.add(one, left?.[at] as Answering);
    });
    const rest: Pending[] = [];
    for (const one of batch) {
      if (leaving.includes(one) || (inDoubt === true && one.errand !== undefined)) continue;
      if (!(await this.#unchanging.answers(one))) rest.push(one);
    }
    if (rest.length === 0) return;
    hindered(rest);
    this.#pending.unshift(...rest);
    const tries = Math.max(...rest.map(({ tries: count = 0 }) => count));
    await this.#rest(yieldMsAfter(tries));
  }

  #tellWriters(): void {
    for (const tell of this.#writers.splice(0)) tell();
  }

  /** Does nothing if another process is about to change the key. */
  async #propose(batch: Pending[]): Promise<Taken | undefined> {
    let isOwner = false;
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const began = this.#parts.clock.now();
      const kept = this.#keptFor(batch);
      let asked = batch.length;
      const current = kept ?? (await this.#read(batch, isOwner, attempt - 1));
      // the version may have been handed over meanwhile
      if ('left' in current) return current;
      this.#current = undefined;
      // these came after the read began, so they take part in a swap only
      if (this.#pending.length > 0) {
        batch.push(...this.#pending.splice(0, BATCH_MAX - batch.length));
      }
      const isInDoubt = kept === undefined && current.inDoubt === true;
      const latest = isInDoubt ? Infinity : this.#parts.register.peers?.latest();
      asked -= dropLate(batch, asked, latest ?? 0, current.version);
      if (batch.length === 0) {
        this.#current = current;
        return undefined;
      }
      const applying = this.#apply(current, batch);
      const applied = applying instanceof Promise ? await applying : applying;
      // the answer to another process travels with a change
      const isAwaited = batch.every(({ errand }) => errand === undefined);
      const unchanged = isAwaited && applied.body === current.body && applied.pushes.length === 0;
      const isRead =
        unchanged && current.settled && !(this.#parts.register.peers && tellsGrant(applied));
      if (isRead && kept === undefined) {
        this.#current = current;
        this.#pending.unshift(...batch.splice(asked));
        answerAll(batch, applied, current.latest);
        return undefined;
      }
      if (isRead) continue;
      isOwner = kept !== undefined;
      // a kept version is often out of date, unless processes hand it over
      const isLikely = !kept || kept.handedOver || this.#parts.register.peers !== undefined;
      if (await this.#swap(batch, current, applied, isLikely)) return undefined;
      // what a message brought was out of date before
      if (kept?.handedOver !== true) await this.#pause(attempt, began, current, batch);
    }
    const message =
      `other processes changed the state first, ${ATTEMPTS_MAX} times in a row, ` +
      'or a transaction that guards the lock has not ended';
    throw new StoreFailure(message, 'transient', undefined);
  }

  /**
   * The kept state, unless several processes poll, or it lacks a renewed lease: then a swap would
   * be lost.
   */
  #keptFor(batch: readonly Pending[]): Current | undefined {
    const { peers } = this.#parts.register;
    const kept = this.#kept(peers === undefined ? keepMsFor(batch) : KEEP_MS);
    const resource = kept?.engine.resource(this.#key);
    const isBehind = batch.some(({ command }) => {
      if (command.op === 'poll') return (resource?.processes.all.size ?? 0) > 1;
      return command.op === 'renew' && resource?.hasLease(command.id) === false;
    });
    const isBound = batch.some((one) => one.unheard !== undefined);
    return isBehind && !isBound ? undefined : kept;
  }

  #kept(keepMs = KEEP_MS): Current | undefined {
    const current = this.#current;
    const age = this.#parts.clock.now() - (current?.knownAt ?? 0);
    return current !== undefined && age < keepMs ? current : undefined;
  }

  /**
   * Commands that may yield let another process pass.
   * @param isOwner this process was about to change the key
   * @param lost races in a row
   */
  async #read(batch: readonly Pending[], isOwner: boolean, lost: number): Promise<Current | Taken> {
    const { clock, register, turns } = this.#parts;
    const askedAt = clock.now();
    const mayPass = !isOwner && batch.every((one) => mayYield(one));
    if (!mayPass || register.readFree === undefined) {
      const read = lost < LOST_MAX ? turns.read : turns.overtake;
      return this.#loaded(checkedVersioned(await read(this.#name)), askedAt);
    }
    const isCalm = batch.every(({ command }) => command.op !== 'acquire');
    const read = await register.readFree(this.#name, leavingOf(batch), isCalm);
    return 'left' in read ? read : this.#loaded(read, askedAt);
  }

  #loaded(read: PeerVersioned, askedAt: number): Current {
    return loadedFrom(this.#key, read, { askedAt, knownAt: this.#parts.clock.now() });
  }

  #apply(current: Current, batch: readonly Pending[]): Applied | Promise<Applied> {
    const { register, clock, stateMax } = this.#parts;
    const { heldBack } = current;
    const terms = { key: this.#key, ...boundsOf(current, clock.now()), stateMax, heldBack };
    const commands = batch.map(({ command }) => command);
    if (register.alive === undefined || heldBack) {
      return applyAll(current, commands, terms);
    }
    // if it is not known, they count as alive
    const alive = async (channels: readonly string[]): Promise<readonly boolean[]> =>
      (await register.alive?.(channels).catch(() => undefined)) ?? [];
    return applyToLiving(current, commands, terms, alive);
  }

  /** True if the state was swapped, and all commands answered. */
  async #swap(
    batch: readonly Pending[],
    current: Current,
    applied: Applied,
    isLikely: boolean,
  ): Promise<boolean> {
    const { register, turns, clock } = this.#parts;
    const { engine } = current;
    const { body, time, pushes } = applied;
    const askedAt = clock.now();
    const late = latestOf(current, askedAt) - time;
    const resource = engine.resource(this.#key);
    const fences = fencesOf(resource);
    const successor = successorOf(resource, pushes);
    const swapping = turns.swap(this.#name, current.version, {
      state: encode(time, body),
      forgetAt: forgetAt(this.#key, engine),
      fence: fenceOf(this.#key, engine),
      renews: batch.every(({ command: { op } }) => op === 'renew'),
      grants: hasGrant(current.fences, fences),
      messages: messagesOf(pushes, late),
      answers: answersTo(batch, applied, register.peers),
      rests: isFree(resource),
      successor,
      nextChannel: successor?.token === undefined ? undefined : successor.channel,
    });
    if (isLikely && this.#pending.length === 0) this.#tellWriters();
    const swapped = checkedSwapped(await swapping);
    if (swapped === false) return false;
    if (this.#pending.length === 0) this.#tellWriters();
    const { version, time: storeTime, latest = storeTime, deaf = [] } = swapped;
    if (deaf.length > 0) this.#pending.push(...unheard(this.#key, batch, pushes, deaf, version));
    if (version !== '') {
      const known = { storeTime, latest, askedAt, knownAt: clock.now() };
      this.#current = new Current({ engine, body, time }, version, known, fences);
    }
    this.#heldUntil = heldUntil(batch, resource, askedAt, this.#heldUntil);
    answerAll(batch, applied, latest);
    return true;
  }

  /** Waits after a lost race. Urgent proposals wait less, so they usually win the next race. */
  #pause(attempt: number, began: number, { engine }: Current, batch: Pending[]): Promise<void> {
    const head = engine.resource(this.#key)?.queue.at(0);
    const commands = batch.map(({ command }) => command);
    const urgent = isUrgent(commands, head);
    return this.#rest(pauseMsAfter(attempt, this.#parts.clock.now() - began, urgent));
  }

  #rest(ms: number): Promise<void> {
    const { clock, fraction } = this.#parts;
    return new Promise((resolve) => clock.after(ms * (0.5 + fraction()), resolve));
  }
}
