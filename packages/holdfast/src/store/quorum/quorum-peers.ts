/**
 * Processes that contend for a key help each other, so that they do not overtake each other's
 * ballots again and again.
 *
 * The ballot follows the lock. An accept promises the next ballot. If another process will probably
 * change the key next (the new holder), the proposer does not use that ballot. The servers publish
 * it with the value to the other process. Once a majority has published both, that process knows
 * what a majority of promises would tell it, so it needs no read:
 *
 *     =next proof key\nvalue         with the ballot of the value, by each server that accepts it
 *
 * A ballot is used by one process, once. The proposer gave it away before anyone could use it.
 *
 * Commands that can wait go to the owner of the ballot, which applies them with its next change:
 *
 *     >proof number until ballot from key\ncommand   to the owner, by a majority of the servers
 *     >proof number                                  from a process that does not own the ballot
 *     <number proof answer                           with the change
 *
 * Every client that may publish can send such messages, and every client that may subscribe can
 * read them. So each has a proof: the text is signed with the secret of the owner. A process writes
 * its secret into the records that it changes, where only clients with rights to the keys read it.
 * A message without a proof, or that cannot be read, is dropped and counted.
 *
 * A command is not applied later than `until`, by the clock of the quorum. Its sender repeats it
 * only when that time has passed.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import type { Errand, PeerListener, Peers } from '../register/peers.js';
import type { Message } from '../register/register.js';
import type { Members } from './members.js';
import { ANSWERED, HANDED, TOLD } from './quorum-channel.js';
import type { Versions } from './versions.js';

/** How long a command may be left to another process, in µs. */
const LEAVE: Micros = 100_000;
/** An owner is known for this long, in ms. */
const OWNER_MS = 1000;
/** An owner that did not answer is not asked for this long, in ms. */
const SILENT_MS = 200;
/** The most commands that wait for the version which they name. */
const EARLY_MAX = 200;
/** The most keys whose owner is known. */
const OWNERS_MAX = 1000;

/** A version that another process handed over. */
export interface Handed {
  readonly key: string;
  readonly next: string;
  readonly value: string;
}

/** The process to which a version was handed over. */
export interface Owner {
  readonly channel: string;
  readonly next: string;
  readonly secret: string;
}

/** A command that was left to another process. */
interface Left {
  readonly secret: string;
  readonly settle: (answer: string | undefined) => void;
}

interface PeerParts {
  readonly clock: Clock;
  readonly fraction: () => number;
  /** The secret of this process. */
  readonly secret: string;
}

export class QuorumPeers implements Peers {
  listener: PeerListener | undefined;
  readonly #members: Members;
  readonly #clock: Clock;
  readonly #fraction: () => number;
  readonly #own: () => string | undefined;
  readonly #secret: string;
  readonly #versions: Versions;
  readonly #owners = new Map<string, Owner & { readonly at: number }>();
  /** The channels of owners that did not answer, and since when. */
  readonly #silent = new Map<string, number>();
  readonly #left = new Map<string, Left>();
  /** What was told about versions that this process does not have yet. */
  readonly #early: string[] = [];
  /** The commands that came lately: each comes by several servers. */
  readonly #told = new Set<string>();
  #count = 0;

  /** @param own the channel of this process, if it listens */
  constructor(
    members: Members,
    versions: Versions,
    { clock, fraction, secret }: PeerParts,
    own: () => string | undefined,
  ) {
    this.#secret = secret;
    this.#members = members;
    this.#versions = versions;
    this.#clock = clock;
    this.#fraction = fraction;
    this.#own = own;
  }

  ownerOf(key: string): string | undefined {
    const owner = this.#owners.get(key);
    const now = this.#clock.now();
    if (owner === undefined || now - owner.at > OWNER_MS) return undefined;
    const since = this.#silent.get(owner.channel);
    return since === undefined || now - since > SILENT_MS ? owner.channel : undefined;
  }

  /** This process handed the version of a key over; `undefined`: it did not. */
  owned(key: string, owner: Owner | undefined): void {
    this.#owners.delete(key);
    if (owner === undefined) return;
    this.#owners.set(key, { ...owner, at: this.#clock.now() });
    if (this.#owners.size <= OWNERS_MAX) return;
    for (const oldest of this.#owners.keys()) {
      this.#owners.delete(oldest);
      break;
    }
  }

  latest(): Micros {
    return this.#members.clocks.latest(this.#clock.now());
  }

  async leave(channel: string, key: string, command: string): Promise<string | undefined> {
    const from = this.#own();
    const { now } = this.#members;
    const owner = this.#owners.get(key);
    if (from === undefined || owner === undefined || now === 0) return undefined;
    this.#count += 1;
    const number = `${this.#count}.${Math.floor(this.#fraction() * 1e9)}`;
    const until = now + LEAVE;
    const { next, secret } = owner;
    const text = `${number} ${until} ${next} ${from.length} ${from}${key}\n${command}`;
    const answer = new Promise<string | undefined>((settle) => {
      this.#left.set(number, { secret, settle });
    });
    this.#members.tell(key, { channel, text: `${TOLD}${proofOf(secret, text)} ${text}` });
    void this.#expire(number, channel, until);
    return answer;
  }

  /** Ends to wait for an answer when the command will not be applied any more. */
  async #expire(number: string, owner: string, until: Micros): Promise<void> {
    for (;;) {
      const ms = Math.max(1, (until - this.#members.now) / 1000 + 1);
      await new Promise<void>((resolve) => void this.#clock.after(ms, resolve, true));
      if (!this.#left.has(number)) return;
      if (this.#members.now > until) break;
    }
    this.#silent.set(owner, this.#clock.now());
    if (this.#silent.size > OWNERS_MAX) this.#silent.clear();
    this.#settle(number, undefined);
  }

  #settle(number: string, answer: string | undefined): void {
    this.#left.get(number)?.settle(answer);
    this.#left.delete(number);
  }

  /** Reads what another process told. It must name a version that was handed over to this one. */
  told(message: string): void {
    const space = message.indexOf(' ');
    const [proof, text] = [message.slice(TOLD.length, space), message.slice(space + 1)];
    const secret = this.#left.get(text)?.secret;
    if (secret !== undefined && isProven(secret, text, proof)) return this.#settle(text, undefined);
    if (!isProven(this.#secret, text, proof)) throw new TypeError('a message without a proof');
    const found = /^(\S+) (\d+) (\d+) (\d+) /.exec(text);
    if (found === null) return;
    const [head, number, until, next, length] = found as unknown as [string, ...string[]];
    const from = text.slice(head.length, head.length + Number(length));
    const rest = text.slice(head.length + from.length);
    const end = rest.indexOf('\n');
    const key = rest.slice(0, end);
    const left = Number(until) - this.#members.now;
    if (left < 0 || left > 2 * LEAVE) return;
    if (!this.#versions.wasHanded(key, next as string)) {
      // its version may still be on the way, by the other servers
      if (this.#early.length < EARLY_MAX) this.#early.push(message);
      return;
    }
    if (this.#told.has(from + number)) return;
    if (this.#told.size > EARLY_MAX) this.#told.clear();
    this.#told.add(from + number);
    const errand = { from, number: number as string, until: Number(until) };
    this.listener?.asked(key, rest.slice(end + 1), errand);
  }

  /** A version was handed over to this process. */
  handedOver(): void {
    for (const text of this.#early.splice(0)) this.told(text);
  }

  /** True if a message of a change is an answer to a command that was left. */
  answered(message: string): boolean {
    if (!message.startsWith(ANSWERED)) return false;
    const [number = '', proof = ''] = message.slice(ANSWERED.length).split(' ', 2);
    const answer = message.slice(ANSWERED.length + number.length + proof.length + 2);
    const secret = this.#left.get(number)?.secret;
    if (secret === undefined) return true;
    if (!isProven(secret, `${number} ${answer}`, proof)) {
      throw new TypeError('an answer without a proof');
    }
    this.#settle(number, answer);
    return true;
  }

  decline({ from, number }: Errand): void {
    const text = `${TOLD}${proofOf(this.#secret, number)} ${number}`;
    this.#members.tell(from, { channel: from, text });
  }

  answerTo({ from, number }: Errand, reply: string): Message {
    const proof = proofOf(this.#secret, `${number} ${reply}`);
    return { channel: from, text: `${ANSWERED}${number} ${proof} ${reply}` };
  }
}

const PROOF_LENGTH = 22;

function proofOf(secret: string, text: string): string {
  const proof = createHmac('sha256', secret).update(text).digest('base64url');
  return proof.slice(0, PROOF_LENGTH);
}

function isProven(secret: string, text: string, proof: string): boolean {
  const [wanted, given] = [Buffer.from(proofOf(secret, text)), Buffer.from(proof)];
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}

/** What a process that hands a version over signs. */
const handedText = (ballot: string, { next, key, value }: Handed): string =>
  `${ballot} ${next} ${key}\n${value}`;

/**
 * The message that hands a version over. The servers add the value.
 * @param ballot of the value
 * @param secret of the process that listens to the channel
 */
export function handOverOf(
  channel: string,
  handed: Handed,
  ballot: string,
  secret: string,
): Message {
  const proof = proofOf(secret, handedText(ballot, handed));
  return { channel, text: `${HANDED}${handed.next} ${proof} ${handed.key}\n` };
}

/**
 * Reads such a message; `undefined` if it is another one. Throws if it has no proof.
 * @param secret of this process
 */
export function handedOf(text: string, ballot: string, secret: string): Handed | undefined {
  if (!text.startsWith(HANDED)) return undefined;
  const end = text.indexOf('\n');
  const [next = '', proof = ''] = text.slice(HANDED.length, end).split(' ', 2);
  const key = text.slice(HANDED.length + next.length + proof.length + 2, end);
  const handed = { next, key, value: text.slice(end + 1) };
  if (isProven(secret, handedText(ballot, handed), proof)) return handed;
  throw new TypeError('a version without a proof');
}
