/**
 * A register over several independent servers, by the CASPaxos protocol (Rystsov, arXiv
 * 1802.07000): the servers are acceptors, and the clients propose.
 *
 *     read:  prepare(ballot) at all servers; a majority promises; the value with the greatest
 *            ballot among their answers is the state
 *     swap:  accept(ballot, new value) at all servers; a majority accepts, and the swap is made
 *
 * A promise is a refusal of all smaller ballots, so of two proposers at most one succeeds. An
 * accept also promises the next ballot to the same proposer. While no other process changes the
 * key, the next swap needs no read.
 *
 * A value that only a minority accepted may or may not become the state: the next proposer that
 * sees it completes it, and sends its messages again. A record names the changes before it, so a
 * process whose swap was interrupted finds out what became of it.
 */
import type { Clock } from '../../clock.js';
import type { Micros } from '../../engine/commands.js';
import { StoreFailure, type TimeLimit } from '../port.js';
import type {
  Change,
  Message,
  MessageListener,
  Register,
  Swapped,
  Versioned,
} from '../register/register.js';
import { type Acceptor, PROMISE_MS, type Proposal, type Vote } from './acceptor.js';
import { Ballots } from './ballots.js';
import {
  changed,
  decodeRecord,
  EMPTY,
  encodeRecord,
  follows,
  type QuorumRecord,
} from './record.js';
import type { Round } from './count.js';
import { Healing } from './healing.js';
import { Members, type MembersOptions, type Send } from './members.js';
import { keysOf } from './keys.js';
import { QuorumChannel } from './quorum-channel.js';
import { type Handed, handedOf, handOverOf, QuorumPeers } from './quorum-peers.js';
import { type Open, Versions } from './versions.js';

/** Servers keep a record for this much longer than the state must be kept. */
const MARGIN: Micros = 1_000_000;
/** The most attempts to get the promises of a majority, and their first pause in ms. */
const READS_MAX = 30;
const PAUSE_MS = 1;
/** Attempts to find out what became of an interrupted swap. */
const RESOLVES_MAX = 6;

export interface QuorumRegisterOptions extends MembersOptions {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly fraction: () => number;
}

/** What the servers publish with a change, and the channel of the process that gets the version. */
interface Delivery {
  readonly messages: readonly Message[];
  readonly heir?: string | undefined;
}

export class QuorumRegister implements Register {
  readonly label: string = 'quorum';
  readonly members: Members;
  readonly peers: QuorumPeers;
  readonly #clock: Clock;
  readonly #fraction: () => number;
  readonly #ballots: Ballots;
  readonly #healing: Healing;
  readonly #versions = new Versions();
  /** By channel: messages of this process to itself need no server. */
  readonly #listeners = new Map<string, MessageListener>();

  constructor(acceptors: readonly Acceptor[], options: QuorumRegisterOptions) {
    const { clock, fraction } = options;
    this.members = new Members(acceptors, options);
    this.#clock = clock;
    this.#fraction = fraction;
    this.#ballots = new Ballots(fraction, () => this.members.now);
    this.#healing = new Healing(this.members, clock);
    this.peers = new QuorumPeers(this.members, this.#versions, options, () => {
      for (const channel of this.#listeners.keys()) return channel;
      return undefined;
    });
  }

  async read(key: string): Promise<Versioned> {
    const began = this.#clock.now();
    const { version, base, settled } = await this.#prepare(key);
    return { state: base.state, version, settled, ...this.#times(began) };
  }

  async swap(key: string, version: string, change: Change): Promise<Swapped> {
    const open = this.#versions.take(key, version);
    if (open === undefined) return false;
    const began = this.#clock.now();
    const messages = [...open.again, ...change.messages];
    const { state, forgetAt } = change;
    const record = changed(open.base, version, { state, messages, keep: forgetAt + MARGIN });
    const made = await this.#accept(key, version, record, this.#delivery(messages, change));
    if (typeof made !== 'string') {
      if (!made.open && made.agreed.length === 0) return false;
      if (!(await this.#wasMade(key, open.base, version))) return false;
    }
    for (const { channel, text } of messages) this.#listeners.get(channel)?.message(text);
    // after an interruption others may have changed the state, so the next swap needs a read
    return { version: typeof made === 'string' ? made : '', ...this.#times(began) };
  }

  /** What the servers publish with a change. */
  #delivery(all: readonly Message[], { answers, successor }: Change): Delivery {
    const isOther = successor !== undefined && !this.#listeners.has(successor);
    const heir = isOther && this.#listeners.size > 0 ? successor : undefined;
    // the heir finds its messages in the value
    const messages = all.filter(({ channel }) => {
      return channel !== heir && !this.#listeners.has(channel);
    });
    return { messages: [...messages, ...(answers ?? [])], heir };
  }

  /**
   * Another process handed its next ballot over. A majority has accepted the value with it, so it
   * is what a read would return.
   */
  #handedOver(channel: string, { key, next, value }: Handed, accepted: string): void {
    const base = decodeRecord(value);
    const open = { version: next, base, accepted, again: [], settled: true };
    if (this.#versions.handOver(key, open)) {
      this.#ballots.pass(next);
      this.peers.owned(key, undefined);
      const times = this.#times(this.#clock.now());
      this.peers.listener?.handedOver(key, { state: base.state, version: next, ...times });
    }
    for (const message of base.messages) {
      if (message.channel === channel) this.#listeners.get(channel)?.message(message.text);
    }
    this.peers.handedOver();
  }

  async listen(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    const acceptors = this.members.all.map(({ acceptor }) => acceptor);
    const quorum = new QuorumChannel(acceptors, this.members.majority, this.#clock, {
      message: (text, ballot) => {
        const handed = handedOf(text);
        if (handed !== undefined) this.#handedOver(channel, handed, ballot);
        else if (!this.peers.answered(text)) listener.message(text);
      },
      told: (text) => this.peers.told(text),
      up: () => listener.up(),
      down: () => listener.down(),
    });
    const opened = await quorum.open(channel);
    this.#listeners.set(channel, listener);
    return {
      close: () => {
        this.#listeners.delete(channel);
        return opened.close();
      },
    };
  }

  keys(prefix: string, within: TimeLimit): AsyncIterable<string> {
    return keysOf(this.members, prefix, within);
  }

  /** Bounds of the clock of the quorum, now and when the call began. */
  #times(began: number): { readonly time: Micros; readonly latest: Micros } {
    const { clocks } = this.members;
    return { time: this.members.now, latest: clocks.latest(began) };
  }

  /** Gets the promises of a majority, and the state. */
  async #prepare(key: string): Promise<Open> {
    for (let attempt = 1; attempt <= READS_MAX; attempt++) {
      const ballot = this.#ballots.next();
      const send: Send = (acceptor, now) => acceptor.prepare(key, ballot, now);
      const round = await this.members.round(send, { key, bare: attempt === 1 });
      if (round.agreed.length >= this.members.majority) {
        return this.#versions.put(key, this.#openOf(ballot, round));
      }
      if (round.promised === undefined) throw this.#tooFew(round);
      this.#ballots.pass(round.promised);
      await this.#pause(attempt);
    }
    const message = `other processes proposed greater ballots, ${READS_MAX} times in a row`;
    throw new StoreFailure(message, 'transient', undefined);
  }

  #openOf(version: string, { agreed }: Round): Open {
    let best: Extract<Vote, { status: 'yes' }> | undefined;
    for (const vote of agreed) if (vote.ballot > (best?.ballot ?? '')) best = vote;
    if (best === undefined) return { version, base: EMPTY, accepted: '', again: [], settled: true };
    const same = agreed.filter(({ ballot }) => ballot === best.ballot).length;
    const settled = same >= this.members.majority;
    const base = decodeRecord(best.value);
    return { version, base, accepted: best.ballot, again: settled ? [] : base.messages, settled };
  }

  /**
   * Proposes a record. Resolves to the next version, or to the round that failed.
   * @param delivery what the servers publish
   */
  async #accept(
    key: string,
    ballot: string,
    record: QuorumRecord,
    { messages, heir }: Delivery = { messages: record.messages },
  ): Promise<string | Round> {
    const next = this.#ballots.next();
    const value = encodeRecord(record);
    const handOver = heir === undefined ? undefined : handOverOf(heir, key, next);
    const proposal = (now: Micros, published: readonly Message[]): Proposal => {
      const keep = Math.max(PROMISE_MS, Math.ceil((record.keep - now) / 1000));
      return { ballot, next, messages: published, value, keep, now };
    };
    const late = (vote: Vote): void => this.#late(key, next, vote);
    // a message counts when a majority publishes it, and a receiver may not hear some servers
    const bare = messages.length === 0 && heir === undefined;
    const first = { ...proposal(this.members.now, messages), handOver };
    const send: Send = (acceptor) => acceptor.accept(key, first);
    const round = await this.members.round(send, { key, bare, late });
    if (round.promised !== undefined) this.#ballots.pass(round.promised);
    if (round.agreed.length < this.members.majority) return round;
    const healing = { members: round.spared, proposal: (now: Micros) => proposal(now, []) };
    this.#healing.add(key, { ...healing, vote: late });
    this.#versions.made(key, ballot);
    this.peers.owned(key, heir === undefined ? undefined : { channel: heir, next });
    // the next ballot is not ours any more; or a server with a greater promise would refuse the
    // next swap: read first, with a greater ballot
    if (heir !== undefined || round.promised !== undefined) return '';
    const settled = { accepted: ballot, again: [], settled: true };
    this.#versions.put(key, { version: next, base: record, ...settled });
    return next;
  }

  /** A vote after the end of its round: one that refused would refuse the next swap too. */
  #late(key: string, next: string, vote: Vote): void {
    if (vote.status !== 'no') return;
    this.#ballots.pass(vote.promised);
    this.#versions.drop(key, next);
  }

  /**
   * Finds out what became of a swap that some servers may have accepted. It completes the state
   * that a majority knows, so the answer is final.
   */
  async #wasMade(key: string, base: QuorumRecord, origin: string): Promise<boolean> {
    for (let attempt = 1; attempt <= RESOLVES_MAX; attempt++) {
      await this.#pause(attempt);
      const { version, base: found, accepted, settled } = await this.#prepare(key);
      this.#versions.drop(key);
      // a state with a smaller ballot than that of the swap would lose against it later
      if (!settled || accepted < origin) {
        const completed = await this.#accept(key, version, found);
        this.#versions.drop(key);
        if (typeof completed !== 'string') continue;
      }
      if (found.origins.includes(origin)) return true;
      if (follows(found, base)) return false;
      break;
    }
    const message = `the outcome of a change is unknown: ${this.members.describe()}`;
    throw new StoreFailure(message, 'unanswered', undefined);
  }

  #tooFew({ agreed }: Round): StoreFailure {
    const { majority, all } = this.members;
    const message =
      `${agreed.length} of ${all.length} servers agreed, and ${majority} must: ` +
      this.members.describe();
    return new StoreFailure(message, 'unanswered', undefined);
  }

  #pause(attempt: number): Promise<void> {
    const ms = PAUSE_MS * Math.min(attempt, 8) * (0.5 + this.#fraction());
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }
}
