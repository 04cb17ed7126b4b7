/**
 * A register over several independent servers, by the CASPaxos protocol (Rystsov, arXiv
 * 1802.07000): the servers are acceptors, the clients propose ([decision
 * 13](../../../../../docs/decisions/0013-quorum.md)).
 *
 *     read:  prepare(ballot) at all servers; a majority promises; the value with the greatest
 *            ballot among their answers is the state
 *     swap:  accept(ballot, new value) at all servers; a majority accepts, and the swap is made
 *
 * Invariant: a promise refuses all smaller ballots, so of two proposers at most one succeeds. An
 * accept also promises the next ballot to the same proposer: its next swap needs no read.
 *
 * A value that a minority accepted may become the state: a proposer that sees it completes it. A
 * record names the changes before it, which tells a process whether its interrupted swap was made.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import { StoreFailure, type TimeLimit } from '../port.js';
import type {
  Leaving,
  PeerChange,
  PeerRegister,
  PeerSwapped,
  PeerVersioned,
  Taken,
} from '../register/peers.js';
import type { Message, MessageListener, Scanned, Versioned } from '../register/register.js';
import {
  type Acceptor,
  type Asker,
  UNUSED,
  ownerText,
  PROMISE_MS,
  type Proposal,
  type Vote,
} from './acceptor.js';
import { Ballots } from './ballots.js';
import { Connections } from './connections.js';
import {
  changed,
  decodeRecord,
  encodeRecord,
  follows,
  type Peer,
  type QuorumRecord,
} from './record.js';
import { chosen, deafAt, isMade, type Made, type Round } from './count.js';
import { type Delivery, deliveryOf } from './delivery.js';
import { Healing } from './healing.js';
import { Members, type MembersOptions, type Send } from './members.js';
import { keysOf } from './keys.js';
import { QuorumChannel } from './quorum-channel.js';
import { type LeavingTerms, NO_LETTERS } from './letters.js';
import { type Handed, handedOf, handOverOf, QuorumPeers } from './quorum-peers.js';
import { type Open, openOf, Recent, Versions } from './versions.js';

/** Servers keep a record this much longer than the state. */
const MARGIN: Micros = 1_000_000;
/** Attempts to get the promises of a majority, and their first pause in ms. Pauses grow. */
const READS_MAX = 200;
const PAUSE_MS = 1;
const PAUSES_MAX = 32;
/**
 * Attempts to find a state that a majority has, and the first that asks all servers. Together they
 * last until servers outside bare rounds have its value.
 */
const LOOKS_MAX = 20;
const LOOKS_OF_ALL = 3;
/** How long a key counts as busy after another process changed it, in ms. */
const TAKEN_MS = 1000;
const RESOLVES_MAX = 6;
/** The most messages of interrupted changes that are sent again. */
const AGAIN_MAX = 100;

export interface QuorumRegisterOptions extends MembersOptions {
  /** In [0, 1). */
  readonly fraction: () => number;
  readonly secret?: string | undefined;
}

export class QuorumRegister implements PeerRegister {
  readonly label: string = 'quorum';
  readonly members: Members;
  readonly peers: QuorumPeers;
  readonly connections: Connections;
  readonly #clock: Clock;
  readonly #fraction: () => number;
  readonly #ballots: Ballots;
  readonly #healing: Healing;
  readonly #versions = new Versions();
  readonly #takenAt = new Recent<number>();
  /** Messages of this process to itself need no server. */
  readonly #listeners = new Map<string, MessageListener>();
  readonly #secret: string;
  dropped = 0;

  constructor(acceptors: readonly Acceptor[], options: QuorumRegisterOptions) {
    const { clock, fraction, secret = randomBytes(12).toString('base64url') } = options;
    this.#secret = secret;
    this.members = new Members(acceptors, options);
    this.connections = new Connections(acceptors);
    this.#clock = clock;
    this.#fraction = fraction;
    this.#ballots = new Ballots(fraction, () => this.members.now);
    this.#healing = new Healing(this.members, clock);
    const own = (): string | undefined => this.#own?.[0];
    const parts = { clock, fraction, secret, own, dropped: (): void => void (this.dropped += 1) };
    this.peers = new QuorumPeers(this.members, this.#versions, parts);
  }

  get #own(): Peer | undefined {
    for (const channel of this.#listeners.keys()) return [channel, this.#secret];
    return undefined;
  }

  get #owner(): Pick<Asker, 'owner'> {
    const own = this.#own;
    return { owner: own === undefined ? '' : ownerText(own[1], own[0]) };
  }

  async read(key: string): Promise<PeerVersioned> {
    const began = this.#clock.now();
    return this.#versioned(await this.#prepare(key), began);
  }

  async readFree(
    key: string,
    commands: readonly Leaving[],
    isCalm: boolean,
  ): Promise<PeerVersioned | Taken> {
    const began = this.#clock.now();
    const [letters, { yields }] = [this.peers.letters(commands), this.members];
    const takenAt = this.#takenAt.get(key) ?? -Infinity;
    // without the clock of the quorum no ballot is great enough
    const mayAsk = this.members.now > 0 && this.#versions.of(key) === undefined;
    const isBusy = mayAsk && (isCalm || began - takenAt < TAKEN_MS);
    const refusal = isBusy ? await this.#refusal(key, { yields, letters }) : undefined;
    const again = letters.inDoubt ? NO_LETTERS : letters;
    const round = refusal ?? (await this.#ask(key, { yields, letters: again }));
    const { inDoubt } = letters;
    const ms = 'version' in round ? 0 : this.peers.stays();
    if (inDoubt) letters.resolve(ms, () => this.connections.doubt());
    if ('version' in round) return { ...this.#versioned(round, began), inDoubt };
    this.#takenAt.set(key, this.#clock.now());
    return { left: letters.sent(round.kept || inDoubt), inDoubt };
  }

  /** Asks one server; `undefined` if it does not refuse. */
  #refusal(
    key: string,
    { yields, letters }: LeavingTerms,
  ): Promise<Pick<Round, 'kept'> | undefined> {
    const ballot = this.#ballots.next();
    const asker = { ...this.#owner, yields, left: letters.text };
    return new Promise((resolve) => {
      const send = (acceptor: Acceptor): Promise<Vote> => {
        const vote = acceptor.prepare(key, ballot, this.members.now, asker);
        letters.posted(vote);
        return this.#opened(key, vote);
      };
      this.members.askFirst(key, send, (vote) => {
        if (vote?.status !== 'no') return resolve(undefined);
        this.#ballots.pass(vote.promised);
        resolve(vote);
      });
    });
  }

  /** Takes commands from a vote, also from a late one. */
  async #opened(key: string, answer: Promise<Vote>): Promise<Vote> {
    const vote = await answer;
    if (vote.status === 'yes') this.peers.received(key, vote.left);
    return vote;
  }

  #versioned({ version, base, settled, mark }: Open, began: number): PeerVersioned {
    return { state: base.state, version, settled, floor: mark, ...this.#times(began) };
  }

  async look(key: string): Promise<Versioned> {
    const { majority, all } = this.members;
    for (let attempt = 1; attempt <= LOOKS_MAX; attempt++) {
      const began = this.#clock.now();
      const send: Send = (acceptor, now) => acceptor.look(key, now);
      const wanted = attempt < LOOKS_OF_ALL ? majority : all.length;
      const { agreed } = await this.members.round(send, { key, bare: attempt === 1, wanted });
      if (agreed.length < majority) throw this.members.tooFew(agreed.length);
      const known = chosen(agreed, majority);
      if (known !== undefined) {
        const { state } = decodeRecord(known.value);
        return { state, version: '', ...this.#times(began) };
      }
      await this.#pause(attempt);
    }
    const message = 'other processes are changing the key; no state of it is known to a majority';
    throw new StoreFailure(message, 'transient', undefined);
  }

  async swap(key: string, version: string, change: PeerChange): Promise<PeerSwapped> {
    const open = this.#versions.take(key, version);
    if (open === undefined) return false;
    const began = this.#clock.now();
    const messages = [...open.again.slice(-AGAIN_MAX), ...change.messages];
    const { state, forgetAt, fence } = change;
    const next = { state, fence, messages, keep: forgetAt + MARGIN };
    const record = changed(open.base, version, this.#own, next);
    const delivery = deliveryOf(record, change, new Set(this.#listeners.keys()));
    const grows = change.renews !== true && open.base.state.length < state.length;
    const made = await this.#accept(key, version, record, { ...delivery, grows });
    if (!isMade(made)) {
      if (!made.open && made.agreed.length === 0) {
        if (made.promised === undefined) throw this.members.tooFew(0);
        return false;
      }
      if (!(await this.#wasMade(key, open.base, record))) return false;
    }
    for (const { channel, text } of messages) this.#listeners.get(channel)?.message(text);
    // others may have changed the state since, so the next swap needs a read
    return { ...(isMade(made) ? made : { version: '' }), ...this.#times(began) };
  }

  /**
   * A majority accepted the value with the ballot that was handed over, so a read would return it.
   */
  #handedOver(from: QuorumChannel, channel: string, handed: Handed, accepted: string): void {
    const { key, next, value } = handed;
    const base = decodeRecord(value);
    // a grant is believed for longer after the answer
    from.made(base.origins);
    const open = { version: next, base, accepted, again: [], settled: true, mark: 0 };
    if (this.#versions.handOver(key, open)) {
      this.#ballots.pass(next);
      const times = this.#times(this.#clock.now());
      this.peers.listener?.handedOver(key, { state: base.state, version: next, ...times });
    }
    for (const message of base.messages) {
      if (message.channel === channel) this.#listeners.get(channel)?.message(message.text);
    }
    this.peers.handedOver(key);
  }

  async listen(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    const acceptors = this.members.all.map(({ acceptor }) => acceptor);
    const quorum = new QuorumChannel(acceptors, this.members.majority, this.#clock, {
      message: (text, ballot) => {
        const handed = handedOf(text, ballot, (key) => this.peers.secretsFor(key));
        if (handed !== undefined) this.#handedOver(quorum, channel, handed, ballot);
        else if (!this.peers.answered(text)) listener.message(text);
      },
      told: (text, server) => this.peers.told(text, server),
      up: () => listener.up(),
      down: () => listener.down(),
      dropped: () => void (this.dropped += 1),
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

  async *scan(prefix: string, within: TimeLimit): AsyncIterable<Scanned> {
    for await (const key of keysOf(this.members, prefix, within)) yield { key };
  }

  #times(began: number): { readonly time: Micros; readonly latest: Micros } {
    const { clocks } = this.members;
    return { time: this.members.now, latest: clocks.latest(began) };
  }

  async #prepare(key: string): Promise<Open> {
    for (let attempt = 1; attempt <= READS_MAX; attempt++) {
      const round = await this.#ask(key, { yields: 0, letters: NO_LETTERS }, attempt === 1);
      if ('version' in round) return round;
      await this.#pause(attempt);
    }
    const message = `other processes proposed greater ballots, ${READS_MAX} times in a row`;
    throw new StoreFailure(message, 'transient', undefined);
  }

  async #ask(
    key: string,
    { yields, letters }: LeavingTerms,
    bare = true,
  ): Promise<Open | Pick<Round, 'kept'>> {
    const ballot = this.#ballots.next();
    const asker = { ...this.#owner, yields };
    const { text: left } = letters;
    let first!: (vote: Vote | undefined) => void;
    const firstVote = new Promise<Vote | undefined>((resolve) => (first = resolve));
    const send: Send = (acceptor, now, isFirst) => {
      const vote = acceptor.prepare(key, ballot, now, isFirst ? { ...asker, left } : asker);
      if (isFirst) letters.posted(vote);
      return this.#opened(key, vote);
    };
    const round = await this.members.round(send, { key, bare, first, leaves: left !== '' });
    const { agreed, promised } = round;
    // left commands are not applied here as well
    if (round.kept) return { kept: true };
    if (agreed.length >= this.members.majority) {
      return this.#versions.put(key, openOf(ballot, agreed, this.members.majority));
    }
    if (promised === undefined) throw this.members.tooFew(agreed.length);
    this.#ballots.pass(promised);
    const vote = yields === 0 ? undefined : await firstVote;
    // contenders may have a promise each: that of the first server counts
    if (vote?.status === 'yes') return this.#prepare(key);
    return { kept: vote?.status === 'no' && vote.kept };
  }

  /** The failed round without a majority. */
  async #accept(
    key: string,
    ballot: string,
    record: QuorumRecord,
    { messages, heir, grows = false, rests = false }: Delivery = { messages: record.messages },
  ): Promise<Made | Round> {
    const next = this.#ballots.next();
    const value = encodeRecord(record);
    const handed = { key, next, value };
    const handOver = heir && handOverOf(heir[0], handed, ballot, heir[1]);
    const user = heir ?? this.#own;
    const owner = rests ? UNUSED : user && ownerText(user[1], user[0]);
    const proposal = (now: Micros, published: readonly Message[]): Proposal => {
      const keep = Math.max(PROMISE_MS, Math.ceil((record.keep - now) / 1000));
      const { fence } = record;
      return { ballot, next, owner, messages: published, value, keep, now, fence, grows };
    };
    const late = (vote: Vote): void => this.#late(key, next, vote);
    // a message counts when a majority publishes it, and a receiver may not hear some servers
    const bare = messages.length === 0 && heir === undefined;
    const first = { ...proposal(this.members.now, messages), handOver };
    const send: Send = (acceptor) => this.#opened(key, acceptor.accept(key, first));
    const round = await this.members.round(send, { key, bare, late });
    if (round.promised !== undefined) this.#ballots.pass(round.promised);
    if (round.agreed.length < this.members.majority) return round;
    const healing = { members: round.spared, proposal: (now: Micros) => proposal(now, []) };
    this.#healing.add(key, { ...healing, vote: late });
    const deaf = deafAt(round.agreed, this.members.majority);
    // an heir that hears no majority cannot use the next ballot
    const isGiven = heir !== undefined && !deaf.includes(heir[0]);
    // the next ballot is given away, or smaller than a promise: read first
    if (isGiven || round.promised !== undefined) return { version: '', deaf };
    const settled = { accepted: ballot, again: [], settled: true, mark: 0 };
    this.#versions.put(key, { version: next, base: record, ...settled });
    return { version: next, deaf };
  }

  /** A refusal after the round's end tells that the next swap would be refused, too. */
  #late(key: string, next: string, vote: Vote): void {
    if (vote.status !== 'no') return;
    this.#ballots.pass(vote.promised);
    this.#versions.drop(key, next);
  }

  /**
   * What became of a swap that some servers may have accepted. It completes the state of a
   * majority, so the answer is final.
   */
  async #wasMade(key: string, base: QuorumRecord, change: QuorumRecord): Promise<boolean> {
    const [origin = ''] = change.origins;
    for (let attempt = 1; attempt <= RESOLVES_MAX; attempt++) {
      await this.#pause(attempt);
      const { version, base: found, accepted, settled } = await this.#prepare(key);
      this.#versions.drop(key);
      // else a server brings the change back: by its ballot, or when others have forgotten this
      const keep = Math.max(found.keep, change.keep);
      const isShort = keep > Math.max(found.keep, this.members.now + PROMISE_MS * 1000);
      if (!settled || accepted < origin || isShort) {
        const completed = await this.#accept(key, version, { ...found, keep });
        this.#versions.drop(key);
        if (!isMade(completed)) continue;
      }
      if (found.origins.includes(origin)) return true;
      if (follows(found, base)) return false;
      break;
    }
    const message = `the outcome of a change is unknown: ${this.members.describe()}`;
    throw new StoreFailure(message, 'unanswered', undefined);
  }

  #pause(attempt: number): Promise<void> {
    const ms = PAUSE_MS * Math.min(attempt, PAUSES_MAX) * (0.5 + this.#fraction());
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }
}
