/** The servers of a quorum: their checks, and parallel rounds. */
import type { Clock } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import { Deadlines } from '../deadlines.js';
import { StoreFailure, type TimeLimit } from '../port.js';
import type { ServerInfo } from '../server-info.js';
import type { Acceptor, Vote } from './acceptor.js';
import { Count, type Round } from './count.js';
import { type Answer, Member, type MemberParts, textOf, type Trouble } from './member.js';
import { refusalOf } from './refusals.js';
import { verdictOf } from './restarts.js';
import { clockTrouble, ServerClocks } from './server-clocks.js';

/** A clock that is off by more, in ms, is reported. */
const CLOCK_OFF = 1000;
const STATUS: Readonly<Record<Trouble['kind'] | 'agreed', ServerInfo['status']>> = {
  ...{ agreed: 'agreed', promised: 'promised', late: 'late', failed: 'failed' },
  ...{ unmarked: 'restarted', guarded: 'restarted' },
};
/** How often all are asked, for clocks and faults. */
const ALL_EVERY_MS = 1000;
/** A server is slow after this many usual times of a round, within limits in ms. */
const SLOW_FACTOR = 4;
const SLOW_MIN_MS = 5;
const SLOW_MAX_MS = 50;
/** A promise to another proposer stays for this many usual times, within limits in ms. */
const YIELD_FACTOR = 8;
const YIELD_MIN_MS = 100;
const YIELD_MAX_MS = 1000;
/** The weight of a new round in the usual time, and of a longer one. */
const USUAL_WEIGHT = 0.1;
const LONGER_WEIGHT = 0.5;
/** How often a server without memory is asked for its state. */
const LOOK_EVERY_MS = 1000;

export interface MembersOptions {
  readonly clock: Clock;
  /** The longest time to wait for one server, in ms. */
  readonly timeout: number;
  /**
   * How long a server does not vote after its start, in ms, if no other remembers the past; 0: it
   * votes at once.
   */
  readonly guard: number;
  readonly durable: boolean;
  readonly spares?: boolean | undefined;
}

/** `isFirst` is true for one server. */
export type Send = (acceptor: Acceptor, now: Micros, isFirst: boolean) => Promise<Vote>;

export interface RoundTerms {
  /** Spreads bare rounds over the servers. */
  readonly key: string;
  readonly bare: boolean;
  /** The first server is asked to keep commands. */
  readonly leaves?: boolean;
  readonly wanted?: number;
  /** Receives the vote of the first server; `undefined` without one in time. */
  readonly first?: ((vote: Vote | undefined) => void) | undefined;
  readonly late?: ((vote: Vote) => void) | undefined;
}

export class Members {
  readonly clocks: ServerClocks;
  readonly majority: number;
  readonly #members: readonly Member[];
  readonly #clock: Clock;
  readonly #durable: boolean;
  readonly #guard: number;
  readonly #timeout: number;
  readonly #spares: boolean;
  readonly #looks = new Map<Member, Promise<void>>();
  #first: Promise<unknown> | undefined;
  #allAt = Number.NEGATIVE_INFINITY;
  #usual = 0;
  #refusal: string | undefined;

  constructor(acceptors: readonly Acceptor[], options: MembersOptions) {
    const { clock, timeout, guard, durable, spares = true } = options;
    this.#clock = clock;
    this.#durable = durable || guard === 0;
    this.#guard = guard;
    this.#timeout = timeout;
    this.#spares = spares;
    this.majority = Math.floor(acceptors.length / 2) + 1;
    this.clocks = new ServerClocks(acceptors.length);
    const deadlines = new Deadlines(clock);
    this.#members = acceptors.map((acceptor, at) => {
      const time: MemberParts['time'] = (micros, sent, received) => {
        this.clocks.note(at, micros, sent, received);
      };
      const seen = (): void => {
        this.#refusal = refusalOf(this.#members.map(({ status }) => status));
      };
      return new Member(acceptor, { clock, deadlines, timeout, time, seen });
    });
  }

  /** A lower bound of the time of the quorum; 0 while unknown. */
  get now(): Micros {
    return this.clocks.earliest(this.#clock.now());
  }

  get yields(): Micros {
    const ms = Math.min(YIELD_MAX_MS, Math.max(YIELD_MIN_MS, YIELD_FACTOR * this.#usual));
    return Math.round(1000 * ms);
  }

  readonly limit: TimeLimit = (answer) =>
    new Promise((resolve, reject) => {
      const late = (): void =>
        reject(new StoreFailure('no answer in time', 'unanswered', undefined));
      const timer = this.#clock.after(this.#timeout, late);
      answer.then(resolve, reject).finally(() => timer.cancel());
    });

  get all(): readonly Member[] {
    return this.#members;
  }

  /** The servers that answered last time; all if these are too few. */
  get sound(): readonly Member[] {
    return this.#enough(({ trouble }) => trouble?.kind !== 'late' && trouble?.kind !== 'failed');
  }

  /**
   * Resolves as soon as a majority agreed. After a refusal it waits a moment for the others, so
   * that it is mostly known whether any server agreed.
   */
  async round(send: Send, terms: RoundTerms): Promise<Round> {
    const { key, bare, leaves = false, first } = terms;
    const { late = () => undefined, wanted: majority = this.majority } = terms;
    await this.#known();
    const began = this.#clock.now();
    const { now } = this;
    const round = await new Promise<Round>((resolve) => {
      const servers = this.#members.length;
      const slow = Math.min(SLOW_MAX_MS, Math.max(SLOW_MIN_MS, SLOW_FACTOR * this.#usual));
      const count = new Count({ servers, majority, leaves, clock: this.#clock, slow, resolve });
      const asked = new Set<Member>();
      const answering = this.#inOrder(key);
      const ask = (member: Member): void => {
        const isFirst = member === answering[0];
        asked.add(member);
        void this.#ask(member, (acceptor) => send(acceptor, now, isFirst), late).then((answer) => {
          asked.delete(member);
          if (isFirst) first?.('vote' in answer ? answer.vote : undefined);
          if (count.over && 'vote' in answer) late(answer.vote);
          else count.add(answer);
        });
      };
      const isBare = bare && this.#spares && began - this.#allAt < ALL_EVERY_MS;
      const wanted = isBare ? majority : answering.length;
      if (wanted === answering.length) this.#allAt = began;
      for (let at = answering.length; at < this.#members.length; at++) {
        count.add({ trouble: { kind: 'late' }, sent: false });
      }
      for (const member of answering.slice(0, wanted)) ask(member);
      count.spare(answering.slice(wanted), ask, () => {
        for (const member of asked) member.slowSince = this.#clock.now();
      });
    });
    const took = this.#clock.now() - began;
    const weight = took > this.#usual ? LONGER_WEIGHT : USUAL_WEIGHT;
    this.#usual += (this.#usual === 0 ? 1 : weight) * (took - this.#usual);
    return round;
  }

  /** Asks the server that a round asks first. */
  askFirst(
    key: string,
    send: (acceptor: Acceptor) => Promise<Vote>,
    answered: (vote: Vote | undefined) => void,
  ): void {
    const [first] = this.#inOrder(key) as [Member];
    void this.#ask(first, send, () => undefined).then((answer) => {
      answered('vote' in answer ? answer.vote : undefined);
    });
  }

  askOne(
    member: Member,
    send: (acceptor: Acceptor) => Promise<Vote>,
    voted: (vote: Vote) => void,
  ): void {
    void this.#ask(member, send, voted).then((answer) => {
      if ('vote' in answer) voted(answer.vote);
    });
  }

  async #known(): Promise<void> {
    // a guarded server goes by the clock of the quorum, which this process must know
    if (this.now === 0 && this.#members.some(({ status }) => status?.votesFrom)) {
      this.#first = undefined;
    }
    this.#first ??= Promise.all(this.#members.map((member) => this.#look(member)));
    await this.#first;
    if (this.#refusal === undefined) return;
    this.#first = undefined;
    throw new StoreFailure(this.#refusal, 'refused', undefined);
  }

  /**
   * Those that agreed last come first. Processes with equal lists ask the servers of a key in the
   * same order.
   */
  #inOrder(key: string): Member[] {
    const answering = this.#enough((member) => !member.suspected);
    const start = hashOf(key) % answering.length;
    const turned = [...answering.slice(start), ...answering.slice(0, start)];
    const doubtful = turned.filter((member) => member.isDoubtful);
    if (doubtful.length === 0) return turned;
    return [...turned.filter((member) => !member.isDoubtful), ...doubtful];
  }

  trouble(): string | undefined {
    const isTroubled = this.#members.some(({ trouble }) => trouble !== undefined);
    return isTroubled || this.wrongClocks() !== undefined ? this.describe() : undefined;
  }

  wrongClocks(): string | undefined {
    const wrong = this.infos().filter(({ clockOffset = 0 }) => Math.abs(clockOffset) > CLOCK_OFF);
    const parts = wrong.map(({ server, clockOffset }) => {
      return `the clock of server ${server} is off by ${clockOffset} ms`;
    });
    return parts.length === 0 ? undefined : parts.join(', ');
  }

  /** Why a lease of this length, in ms, cannot be judged: the clocks are not known well enough. */
  clockFailure(ttl: number): StoreFailure | undefined {
    const at = this.#clock.now();
    const spread = this.clocks.spread(at) / 1000;
    if (spread < ttl / 2) return undefined;
    const text = clockTrouble(spread, this.clocks.causes(at), ttl);
    return new StoreFailure(`${text}: ${this.describe()}`, 'unanswered', undefined);
  }

  tooFew(agreed: number): StoreFailure {
    const { majority, all } = this;
    const message =
      `${agreed} of ${all.length} servers agreed, and ${majority} must: ` + this.describe();
    return new StoreFailure(message, 'unanswered', undefined);
  }

  describe(): string {
    return this.infos()
      .map(({ server, text }) => `server ${server} ${text}`)
      .join('; ');
  }

  infos(): ServerInfo[] {
    const now = this.#clock.now();
    return this.#members.map(({ trouble }, at) => {
      const clockOffset = this.clocks.offset(at, now);
      const isOff = Math.abs(clockOffset ?? 0) > CLOCK_OFF;
      const clock = isOff ? `, its clock is off by ${clockOffset} ms` : '';
      const text = textOf(trouble, this.now) + clock;
      return { server: at + 1, status: STATUS[trouble?.kind ?? 'agreed'], text, clockOffset };
    });
  }

  #enough(condition: (member: Member) => boolean): readonly Member[] {
    const found = this.#members.filter(condition);
    return found.length >= this.majority ? found : this.#members;
  }

  async #ask(
    member: Member,
    send: (acceptor: Acceptor) => Promise<Vote>,
    late: (vote: Vote) => void,
  ): Promise<Answer> {
    if (member.status === undefined) await this.#look(member);
    const answer = await this.#askUnlessRefused(member, send, late);
    if (!('vote' in answer) || answer.vote.status !== 'unmarked') return answer;
    if (this.#clock.now() < member.lookFrom) return answer;
    await this.#look(member);
    return this.#askUnlessRefused(member, send, late);
  }

  /** The states may be old: clients may have exchanged their servers. */
  async #askUnlessRefused(
    member: Member,
    send: (acceptor: Acceptor) => Promise<Vote>,
    late: (vote: Vote) => void,
  ): Promise<Answer> {
    if (this.#refusal !== undefined) await Promise.all(this.#members.map((one) => this.#look(one)));
    const refusal = this.#refusal;
    if (refusal === undefined) return member.ask(send, late);
    return { trouble: { kind: 'failed', message: refusal }, sent: false };
  }

  /** Checks the marker; concurrent calls share one check. */
  #look(member: Member): Promise<void> {
    const known = this.#looks.get(member);
    if (known !== undefined) return known;
    const look = this.#lookNow(member).finally(() => this.#looks.delete(member));
    this.#looks.set(member, look);
    return look;
  }

  async #lookNow(member: Member): Promise<void> {
    const durable = this.#durable;
    const status = await member.look({ durable });
    if (status?.role !== 'master') return;
    if (status.votesFrom !== undefined && !status.partial) return;
    const others = this.#members.filter((one) => one !== member);
    const answers = await Promise.all(others.map((one) => one.look({ durable, long: true })));
    const { now, majority } = this;
    const latest = this.clocks.latest(this.#clock.now());
    // not before the clock of the quorum is known
    if (latest === Infinity) return;
    const known = answers.filter((one) => one !== undefined);
    const terms = { majority, others: others.length, guard: this.#guard, now, latest };
    const { decision, ...undecided } = verdictOf({ status, ...member.age }, known, terms);
    if (decision !== undefined) return void (await member.look({ durable, decision }));
    const { left } = undecided as { left: number | undefined };
    member.guardedUntil = left === undefined ? undefined : now + left * 1000;
    member.lookFrom = this.#clock.now() + Math.min(left ?? LOOK_EVERY_MS, LOOK_EVERY_MS);
  }
}

function hashOf(key: string): number {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (hash * 31 + key.charCodeAt(at)) | 0;
  return hash >>> 0;
}
