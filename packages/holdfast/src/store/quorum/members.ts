/** The servers of a quorum: their checks, and rounds in which all of them are asked in parallel. */
import type { Clock, Timer } from '../../clock.js';
import type { Micros } from '../../engine/commands.js';
import { Deadlines } from '../deadlines.js';
import { StoreFailure } from '../port.js';
import type { ServerInfo } from '../server-info.js';
import type { Acceptor, ServerStatus, Vote } from './acceptor.js';
import { type Answer, Member, type MemberParts, type Trouble } from './member.js';
import { refusalOf } from './refusals.js';
import { ServerClocks } from './server-clocks.js';

/** Markers that are younger than this, in µs, belong to the same first use of all servers. */
const FIRST_USE = 10_000_000;
/** A clock that is wrong by more than this, in ms, is reported. */
const CLOCK_OFF = 1000;
const STATUS: Readonly<Record<Trouble['kind'] | 'agreed', ServerInfo['status']>> = {
  ...{ agreed: 'agreed', promised: 'promised', late: 'late', failed: 'failed' },
  ...{ unmarked: 'restarted', guarded: 'restarted' },
};
/** How long to wait for the rest of the answers when no majority can agree, in ms. */
const REST_MS = 10;
/** Longer than a request is on its way, in ms. */
const REQUEST_MS = 5000;

export interface MembersOptions {
  readonly clock: Clock;
  /** The longest time to wait for one server, in ms. */
  readonly timeout: number;
  /**
   * How long a server does not vote after its start, in ms, if no other server remembers what was
   * voted for; 0: servers without memory vote at once.
   */
  readonly guard: number;
  readonly durable: boolean;
}

/** The result of a round. */
export interface Round {
  readonly agreed: readonly Extract<Vote, { status: 'yes' }>[];
  /** The greatest ballot that a server promised to another proposer. */
  readonly promised: string | undefined;
  /** True if a server that has not agreed may have received the request. */
  readonly open: boolean;
}

export class Members {
  readonly clocks: ServerClocks;
  readonly majority: number;
  readonly #members: readonly Member[];
  readonly #clock: Clock;
  readonly #durable: boolean;
  readonly #guard: number;
  readonly #looks = new Map<Member, Promise<void>>();
  #first: Promise<unknown> | undefined;
  /** Why these servers are no quorum. */
  #refusal: string | undefined;

  constructor(acceptors: readonly Acceptor[], options: MembersOptions) {
    const { clock, timeout, guard, durable } = options;
    this.#clock = clock;
    this.#durable = durable || guard === 0;
    this.#guard = guard;
    this.majority = Math.floor(acceptors.length / 2) + 1;
    this.clocks = new ServerClocks(acceptors.length);
    const deadlines = new Deadlines(clock);
    this.#members = acceptors.map((acceptor, at) => {
      const time: MemberParts['time'] = (micros, sent, received) => {
        this.clocks.note(at, micros, sent, received);
      };
      return new Member(acceptor, { clock, deadlines, timeout, time });
    });
  }

  /** The time of the quorum is not before this; 0 while it is not known. */
  get now(): Micros {
    return this.clocks.earliest(this.#clock.now());
  }

  get all(): readonly Member[] {
    return this.#members;
  }

  /** The servers that answered last time; all of them if they are too few. */
  get sound(): readonly Member[] {
    return this.#enough(({ trouble }) => trouble?.kind !== 'late' && trouble?.kind !== 'failed');
  }

  /**
   * Asks all servers. Resolves as soon as a majority agreed. If no majority can agree any more, it
   * waits for a moment for the other answers: then it is mostly known whether any server agreed.
   * @param late receives votes that come after that
   */
  async round(
    send: (acceptor: Acceptor) => Promise<Vote>,
    late: (vote: Vote) => void = () => undefined,
  ): Promise<Round> {
    // a server that is guarded goes by the clock of the quorum, which this process must know
    if (this.now === 0 && this.#members.some(({ status }) => status?.votesFrom)) {
      this.#first = undefined;
    }
    this.#first ??= Promise.all(this.#members.map((member) => this.#look(member)));
    await this.#first;
    if (this.#refusal !== undefined) {
      this.#first = undefined;
      throw new StoreFailure(this.#refusal, 'refused', undefined);
    }
    return new Promise((resolve) => {
      const count = new Count(this.#members.length, this.majority, this.#clock, resolve);
      const answering = this.#enough((member) => !member.suspected);
      for (const member of this.#members) {
        if (!answering.includes(member)) {
          count.add({ trouble: { kind: 'late' }, sent: false });
          continue;
        }
        void this.#ask(member, send, late).then((answer) => {
          if (count.over && 'vote' in answer) late(answer.vote);
          else count.add(answer);
        });
      }
    });
  }

  /** What each server said last, if one of them did not agree. */
  trouble(): string | undefined {
    return this.#members.some(({ trouble }) => trouble !== undefined) ? this.describe() : undefined;
  }

  /** What each server said last, for messages. */
  describe(): string {
    return this.infos()
      .map(({ server, text }) => `server ${server} ${text}`)
      .join('; ');
  }

  /** What each server said last. */
  infos(): ServerInfo[] {
    const now = this.#clock.now();
    return this.#members.map(({ trouble }, at) => {
      const clockOffset = this.clocks.offset(at, now);
      const isOff = Math.abs(clockOffset ?? 0) > CLOCK_OFF;
      const clock = isOff ? `, its clock is off by ${clockOffset} ms` : '';
      const text = this.#troubleOf(trouble) + clock;
      return { server: at + 1, status: STATUS[trouble?.kind ?? 'agreed'], text, clockOffset };
    });
  }

  #enough(condition: (member: Member) => boolean): readonly Member[] {
    const found = this.#members.filter(condition);
    return found.length >= this.majority ? found : this.#members;
  }

  #troubleOf(trouble: Trouble | undefined): string {
    switch (trouble?.kind) {
      case undefined:
        return 'agreed';
      case 'promised':
        return 'promised another ballot';
      case 'unmarked':
        return 'lost its memory, and too few others answer to tell for how long that matters';
      case 'late':
        return 'did not answer in time';
      case 'failed':
        return `failed (${trouble.message})`;
      case 'guarded': {
        const left = trouble.until - this.now;
        const seconds = Math.max(0, Math.ceil(left / 1e6));
        return `lost its memory (a restart without durable data?) and votes again in ${seconds} s`;
      }
    }
  }

  async #ask(
    member: Member,
    send: (acceptor: Acceptor) => Promise<Vote>,
    late: (vote: Vote) => void,
  ): Promise<Answer> {
    if (member.status === undefined) await this.#look(member);
    const answer = await member.ask(send, late);
    if (!('vote' in answer) || answer.vote.status !== 'unmarked') return answer;
    await this.#look(member);
    return member.ask(send, late);
  }

  /** Checks the marker of a server. Concurrent calls share one check. */
  #look(member: Member): Promise<void> {
    const known = this.#looks.get(member);
    if (known !== undefined) return known;
    const look = this.#lookNow(member).finally(() => {
      this.#looks.delete(member);
      this.#refusal = refusalOf(this.#members.map(({ status }) => status));
    });
    this.#looks.set(member, look);
    return look;
  }

  async #lookNow(member: Member): Promise<void> {
    const check = (one: Member, from?: Micros): Promise<void> =>
      one.look((acceptor) => acceptor.check({ durable: this.#durable, from }));
    await check(member);
    const { status } = member;
    if (status === undefined || status.votesFrom !== undefined || status.role !== 'master') return;
    const others = this.#members.filter((one) => one !== member);
    await Promise.all(others.map((one) => check(one)));
    const answers = others.flatMap((one) => (one.trouble === undefined ? (one.status ?? []) : []));
    const wait = this.#waitOf(status, answers);
    const latest = wait === 0 ? 0 : this.clocks.latest(this.#clock.now());
    // not before the clock of the quorum is known
    if (wait !== undefined && latest < Infinity) await check(member, latest + wait * 1000);
  }

  /**
   * How long a server without a marker of its boot does not vote, in ms. `undefined` if too few
   * other servers answered to tell.
   */
  #waitOf(status: ServerStatus, others: readonly ServerStatus[]): number | undefined {
    const remembers = others.some(({ time, markedAt }) => {
      return markedAt !== undefined && time - markedAt > FIRST_USE;
    });
    if (!remembers) {
      // the first use of these servers, or all of them were restarted
      const known = others.length + 1 >= this.majority;
      return known ? Math.max(0, this.#guard - status.uptime) : undefined;
    }
    // All that it voted for was accepted by other servers too. With so many answers, one of them
    // knows for how long that matters.
    if (others.length < this.majority) return undefined;
    return Math.max(REQUEST_MS, ...others.map(({ keeps }) => keeps));
  }
}

/** Counts the answers of one round. */
class Count {
  over = false;
  readonly #majority: number;
  readonly #resolve: (round: Round) => void;
  readonly #agreed: Extract<Vote, { status: 'yes' }>[] = [];
  #promised: string | undefined;
  readonly #clock: Clock;
  #pending: number;
  #open = false;
  #timer: Timer | undefined;

  constructor(servers: number, majority: number, clock: Clock, resolve: (round: Round) => void) {
    this.#pending = servers;
    this.#majority = majority;
    this.#clock = clock;
    this.#resolve = resolve;
  }

  add(answer: Answer): void {
    this.#pending -= 1;
    if (!('vote' in answer)) {
      this.#open ||= answer.sent;
    } else if (answer.vote.status === 'yes') {
      this.#agreed.push(answer.vote);
    } else if (answer.vote.status === 'no') {
      const { promised } = answer.vote;
      if (promised > (this.#promised ?? '')) this.#promised = promised;
    }
    if (this.#agreed.length >= this.#majority || this.#pending === 0) {
      this.#end();
    } else if (this.#agreed.length + this.#pending < this.#majority) {
      this.#timer ??= this.#clock.after(REST_MS, () => this.#end());
    }
  }

  #end(): void {
    if (this.over) return;
    this.#timer?.cancel();
    this.over = true;
    this.#open ||= this.#pending > 0;
    this.#resolve({ agreed: this.#agreed, promised: this.#promised, open: this.#open });
  }
}
