/**
 * The pending calls on latches and barriers of this process.
 *
 * Each call sends its own requests until the store reports its generation as closed. Then it joins
 * the queue of that generation, which one push tells the end. Between pushes the queue polls, which
 * also keeps its arrivals alive. A dead or frozen process does not poll, so its generation breaks
 * (see `engine/gate.ts`). Only an answer or a push of the store lets a call pass.
 *
 * A call that gives up after it sent an arrival withdraws. That breaks the generation, unless it
 * had ended or has another count, so no call waits for a party that is gone (I6).
 */
import { aborted } from '../../base/abort.js';
import type { Clock } from '../../base/clock.js';
import type {
  Fate,
  GateCommand,
  GatePush,
  GateReply,
  GateStatus,
  Push,
} from '../../engine/commands.js';
import type { HoldfastError } from '../../base/errors.js';
import type { Settings } from '../../base/options.js';
import type { Requests } from '../../store/requests.js';
import * as failures from '../../acquire/failures.js';
import { broken, endOfWait, gateClosed, otherGate, uncertain } from './gate-failures.js';
import { GateAddress, NOWHERE } from './gate-address.js';
import type { GateCommands } from './gate-commands.js';
import { GateQueue } from './gate-queue.js';
import { type GateResult, type GateSubject, GateWaiter, type GateRequest } from './gate-waiter.js';
import { retryUntilAnswered, type GatePolicy } from './retry.js';
import type { Wake } from '../../store/wake-channel.js';

const POLL_MAX = 1000;

export interface GateParts {
  readonly settings: Settings;
  readonly requests: Requests;
  readonly gateCommands: GateCommands;
  readonly wake: Wake;
  readonly nextId: () => string;
}

export class GateWaiters {
  readonly #parts: GateParts;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #waiters = new Set<GateWaiter>();
  /** Calls with a request under way, by key: a push may overtake its answer. */
  readonly #asking = new Map<string, Set<GateWaiter>>();
  readonly #lines = new Map<string, GateQueue>();
  readonly #address: GateAddress;
  #closed = false;

  constructor(parts: GateParts) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#clock = parts.settings.clock;
    this.#address = new GateAddress(parts.wake, parts.settings.randomSource);
    const look = (): void => {
      for (const line of this.#lines.values()) line.look();
    };
    parts.wake.also({ push: (push) => this.#pushed(push), up: look });
  }

  get size(): number {
    return this.#waiters.size;
  }

  enter(subject: GateSubject, request: GateRequest): Promise<GateResult> {
    const { key } = subject;
    const { signal } = request;
    if (this.#closed) return Promise.reject(gateClosed(key));
    if (signal?.aborted) return Promise.reject(aborted(key, signal.reason));
    const waiter = new GateWaiter(subject, request, this.#parts.nextId(), this.#clock.now());
    this.#waiters.add(waiter);
    const late = (): void => this.#late(waiter);
    waiter.limit(this.#clock, late, (reason) => this.#giveUp(waiter, aborted(key, reason)));
    void this.#ask(waiter);
    return waiter.promise;
  }

  close(): void {
    this.#closed = true;
    for (const waiter of [...this.#waiters]) {
      this.#giveUp(waiter, gateClosed(waiter.subject.key));
    }
  }

  /** A wait that ends in a crowd, or while no push can reach it, asks the store once more. */
  #late(waiter: GateWaiter): void {
    const { key, kind } = waiter.subject;
    const line = this.#lines.get(`${waiter.generation} ${kind} ${key}`);
    const unreached = waiter.channel === '' && waiter.trouble === undefined;
    const asks = waiter.lined && !waiter.overdue && line !== undefined;
    if (!asks || (!unreached && line.rest === 0)) {
      return this.#giveUp(waiter, endOfWait(waiter));
    }
    waiter.overdue = true;
    line.look();
  }

  async #ask(waiter: GateWaiter): Promise<void> {
    const how: GatePolicy = {
      over: () => waiter.settled,
      failed: (failure) => {
        waiter.doubtful ||= waiter.sent && !failure.answered;
        waiter.trouble = failure;
        if (waiter.overdue) this.#giveUp(waiter, endOfWait(waiter));
      },
      patience: this.#settings.unreachableAfter,
    };
    const { key } = waiter.subject;
    const asking = this.#asking.get(key) ?? new Set();
    this.#asking.set(key, asking.add(waiter));
    const asked = (): void => {
      asking.delete(waiter);
      if (asking.size === 0 && this.#asking.get(key) === asking) this.#asking.delete(key);
    };
    try {
      const reply = await retryUntilAnswered(this.#parts, () => this.#command(waiter), how);
      asked();
      if (reply !== undefined && !waiter.settled) this.#answered(waiter, reply);
    } catch (error) {
      asked();
      const counted = waiter.doubtful && !waiter.request.waits;
      this.#giveUp(waiter, counted ? uncertain(key, error) : (error as HoldfastError));
    }
  }

  #command(waiter: GateWaiter): GateCommand {
    const { subject, generation, id } = waiter;
    const address = waiter.request.waits ? this.#address.now : NOWHERE;
    waiter.channel = address.channel;
    if (waiter.candidate !== 0) {
      waiter.askedAt = this.#clock.now();
      // the number before it names the previous generation
      const before = { count: 0, generation: waiter.candidate - 1 };
      return { op: 'watch', ...subject, ...before, ids: [], ...NOWHERE };
    }
    if (!waiter.arrives || generation === 0) {
      return { op: 'watch', ...subject, generation, ids: [], ...address };
    }
    waiter.sent = true;
    const { by } = waiter.request;
    return { op: 'arrive', ...subject, generation, id, by, ...address };
  }

  #answered(waiter: GateWaiter, reply: GateReply): void {
    const { key, kind } = waiter.subject;
    waiter.hear(this.#clock.now());
    if (reply.status === 'other') {
      this.#end(waiter);
      waiter.fail(otherGate(waiter.subject, reply));
      return;
    }
    if (waiter.candidate !== 0) return this.#compared(waiter, reply);
    if (waiter.arrives && !this.#counted(waiter, reply)) return;
    waiter.generation = reply.generation;
    waiter.missing = reply.missing;
    if (!waiter.request.waits && waiter.rank >= 0) this.#pass(waiter, reply.current);
    else if (reply.fate !== 'closed') this.#ended(waiter, reply);
    else if (waiter.lastPush?.generation === reply.generation) this.#ended(waiter, waiter.lastPush);
    else if (waiter.overdue) this.#giveUp(waiter, endOfWait(waiter));
    else this.#wait(waiter, reply, `${reply.generation} ${kind} ${key}`);
  }

  /** Whether the outcome is known. If not, another request was sent or the call failed. */
  #counted(waiter: GateWaiter, reply: GateStatus): boolean {
    if (waiter.generation !== 0) {
      waiter.rank = reply.rank;
      // an open or broken latch counts no further arrivals
      if (reply.rank >= 0 || reply.generation === reply.current) return true;
      if (waiter.doubtful && !reply.sure) {
        this.#end(waiter);
        waiter.fail(uncertain(waiter.subject.key, undefined));
        return false;
      }
      // its generation ended without it; a party in excess waits for the next
      if (waiter.bound && !(waiter.subject.kind === 'barrier' && reply.fate === 'open')) {
        this.#ended(waiter, reply);
        return false;
      }
    }
    if (waiter.overdue && waiter.request.wait > 0) this.#giveUp(waiter, endOfWait(waiter));
    else if (waiter.bound || waiter.hadBegun(reply, this.#clock.now())) this.#bind(waiter, reply);
    else {
      waiter.candidate = reply.current;
      void this.#ask(waiter);
    }
    return false;
  }

  /** The arrival in the earlier generation did not count, and never will. */
  #bind(waiter: GateWaiter, { current }: Pick<GateStatus, 'current'>): void {
    waiter.bind(current, this.#parts.nextId());
    void this.#ask(waiter);
  }

  #compared(waiter: GateWaiter, reply: GateStatus): void {
    const { candidate, subject } = waiter;
    const next = subject.kind === 'barrier' && reply.fate === 'open';
    if (reply.fate === 'unknown' || next || !waiter.beganLater(reply)) {
      return this.#bind(waiter, { current: candidate });
    }
    this.#ended(waiter, { ...reply, fate: 'broken', reason: reply.reason || 'reset' });
  }

  #wait(waiter: GateWaiter, reply: GateStatus, name: string): void {
    const { wake } = this.#parts;
    let line = this.#lines.get(name);
    if (line === undefined) {
      line = new GateQueue(this.#settings, (due) => void this.#poll(due));
      this.#lines.set(name, line);
    }
    const joined = line;
    joined.add(waiter);
    joined.crowd = reply.waiting;
    waiter.lined = true;
    waiter.hear(this.#clock.now() + joined.rest);
    wake.enter();
    waiter.cleanUp(() => {
      joined.waiters.delete(waiter);
      wake.leave();
      if (joined.waiters.size > 0) return;
      joined.disarm();
      this.#lines.delete(name);
    });
    // the channel opened, or a newer push arrived, meanwhile
    const overtaken =
      waiter.lastPush !== undefined && waiter.lastPush.generation > reply.generation;
    if (overtaken || waiter.channel !== wake.channel) joined.look();
    else joined.plan(reply.next, this.#period(joined));
  }

  #period(line: GateQueue): number {
    return line.period(this.#parts.wake);
  }

  async #poll(line: GateQueue): Promise<void> {
    line.plan(0, this.#period(line));
    if (line.polling) return;
    line.polling = true;
    const waiters = [...line.waiters];
    const polls: Promise<boolean>[] = [];
    for (let from = 0; from < waiters.length; from += POLL_MAX) {
      polls.push(this.#pollSome(line, waiters.slice(from, from + POLL_MAX)));
    }
    const answered = (await Promise.all(polls)).every(Boolean);
    line.polling = false;
    if (!answered) return line.pollAgain(this.#period(line));
    line.heard();
    if ([...line.waiters].some((one) => one.channel !== this.#parts.wake.channel)) line.look();
  }

  async #pollSome(line: GateQueue, waiters: readonly GateWaiter[]): Promise<boolean> {
    const [{ subject, generation }] = waiters as [GateWaiter];
    const ids = waiters.filter(({ rank }) => rank >= 0).map(({ id }) => id);
    const ttl = Math.max(...waiters.map((one) => one.subject.ttl));
    const address = this.#address.now;
    let reply: GateReply;
    try {
      const { requests } = this.#parts;
      const watch = {
        op: 'watch',
        ...subject,
        count: 0,
        generation,
        ids,
        ttl,
        ...address,
      } as const;
      // it does not wait for its turn
      reply = await requests.send(watch, undefined, requests.timeout);
    } catch (error) {
      this.#unheard(waiters, error);
      return false;
    }
    if (reply.status !== 'other') line.crowd = reply.waiting;
    const isOpen = reply.status !== 'other' && reply.fate === 'open';
    if (isOpen && address.channel !== '' && waiters.some(({ settled }) => !settled)) {
      this.#parts.wake.missed(subject.key);
    }
    for (const waiter of waiters) {
      if (waiter.settled) continue;
      waiter.hear(this.#clock.now() + line.rest);
      waiter.channel = address.channel;
      if (reply.status === 'other') this.#giveUp(waiter, otherGate(waiter.subject, reply));
      else if (reply.fate !== 'closed') this.#ended(waiter, reply);
      else if (waiter.overdue) this.#giveUp(waiter, endOfWait(waiter));
    }
    if (reply.status !== 'other') line.plan(reply.next, this.#period(line));
    return true;
  }

  #unheard(waiters: readonly GateWaiter[], error: unknown): void {
    const now = this.#clock.now();
    for (const waiter of waiters) {
      waiter.trouble = error;
      const isOver = now - waiter.heardAt >= this.#settings.unreachableAfter;
      if (isOver || waiter.overdue) {
        this.#giveUp(waiter, failures.unreachable(waiter.subject.key, error));
      }
    }
  }

  #pushed(push: Push): void {
    if (push.kind !== 'gate' || !this.#address.knows(push.token)) return;
    for (const waiter of this.#asking.get(push.key) ?? []) waiter.lastPush = push;
    for (const kind of ['latch', 'barrier']) {
      const line = this.#lines.get(`${push.generation} ${kind} ${push.key}`);
      for (const waiter of [...(line?.waiters ?? [])]) this.#ended(waiter, push);
    }
  }

  #ended(
    waiter: GateWaiter,
    { fate, reason, current }: Pick<GateStatus | GatePush, 'reason' | 'current'> & { fate: Fate },
  ): void {
    if (fate === 'open') return this.#pass(waiter, current);
    const { key, kind } = waiter.subject;
    this.#end(waiter);
    waiter.fail(broken(kind, key, reason));
  }

  #pass(waiter: GateWaiter, current: number): void {
    this.#end(waiter);
    waiter.pass(current);
  }

  #end(waiter: GateWaiter): void {
    this.#waiters.delete(waiter);
  }

  #giveUp(waiter: GateWaiter, error: HoldfastError): void {
    if (waiter.settled) return;
    this.#end(waiter);
    waiter.fail(error);
    const { subject, generation, sent } = waiter;
    if (subject.kind === 'barrier' && sent)
      void this.#parts.gateCommands.withdraw(subject, generation);
  }
}
