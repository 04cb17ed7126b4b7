/**
 * Processes that contend for a key help each other, so that their ballots do not overtake each
 * other ([decision 33](../../../../../docs/decisions/0033-contenders-on-a-quorum.md)).
 *
 * The ballot follows the lock: the servers publish the next ballot with the value to the new
 * holder, which then needs no read.
 *
 *     =next proof key\nvalue         with the ballot of the value, by each server that accepts it
 *
 * Commands that can wait are left to the owner of the ballot. A server that keeps the owner's
 * promise keeps them beside it (`Asker.left`), a line each:
 *
 *     [number, until, from, secret, command]
 *
 * The owner gets them with its next vote of that server, or collects them after a message, and
 * applies them with its next change:
 *
 *     >proof key                     by the server, when the first command is left
 *     >!proof key                    at a hand-over, if that was some time ago
 *     <number proof answer           with the change that applies a command
 *
 * Invariants: one process uses a ballot, once. One server keeps a command and gives it to one
 * process, once. A command is not applied after `until` (clock of the quorum); only then its sender
 * repeats it.
 *
 * Each message is signed with the secret of its receiver, which stands in the records that it
 * changed, where only clients with rights to the keys read it. A waiter that has changed none uses
 * the token of its request.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import type { Errand, Leaving, PeerListener, Peers } from '../register/peers.js';
import type { Message } from '../register/register.js';
import { LEAVE } from './acceptor.js';
import { type Letters, NO_LETTERS, Posted } from './letters.js';
import type { Members } from './members.js';
import { ANSWERED, HANDED, TOLD } from './quorum-channel.js';
import { Recent, type Versions } from './versions.js';

const TOKENS_MAX = 200;

/** An owner that has not changed the key for this long, in ms, collects commands. */
const COLLECT_MS = 10;
/** How long its change waits for old commands, in ms. */
const GATHER_MS = 5;

export interface Handed {
  readonly key: string;
  readonly next: string;
  readonly value: string;
}

interface PeerParts {
  readonly clock: Clock;
  readonly fraction: () => number;
  readonly secret: string;
  readonly own: () => string | undefined;
  readonly dropped: () => void;
}

type LeftLine = readonly [
  ...[number: string, until: Micros, from: string, secret: string, command: string],
];

export class QuorumPeers implements Peers {
  listener: PeerListener | undefined;
  readonly #members: Members;
  readonly #versions: Versions;
  readonly #parts: PeerParts;
  readonly #left = new Map<string, (answer: string | undefined) => void>();
  readonly #tokens = new Recent<readonly string[]>();
  /** Servers that keep commands for a version that is not here yet. */
  readonly #early = new Recent<readonly [server: number, old: boolean]>();
  readonly #gathering = new Map<string, Promise<void>>();
  /** Answers before the receipts of their commands. */
  readonly #answers = new Recent<string>();
  #count = 0;

  constructor(members: Members, versions: Versions, parts: PeerParts) {
    this.#members = members;
    this.#versions = versions;
    this.#parts = parts;
  }

  expects(key: string, token: string): void {
    const tokens = this.#tokens.get(key) ?? [];
    if (token !== '') this.#tokens.set(key, [token, ...tokens].slice(0, TOKENS_MAX));
  }

  /** Secrets that sign messages to this process about a key. */
  secretsFor(key: string): readonly string[] {
    return [this.#parts.secret, ...(this.#tokens.get(key) ?? [])];
  }

  latest(): Micros {
    return this.#members.clocks.latest(this.#parts.clock.now());
  }

  stays(): number {
    return this.#members.yields / 1000;
  }

  letters(commands: readonly Leaving[]): Letters {
    const from = this.#parts.own();
    const { now } = this.#members;
    if (from === undefined || now === 0) return NO_LETTERS;
    const until = now + LEAVE;
    const lines = commands.map(({ command, errand }) => {
      const { secret } = this.#parts;
      const fields = errand ?? { number: this.#next(), until, from, secret };
      return { ...fields, isOwn: errand === undefined, command };
    });
    const texts = lines.map(({ number, until: end, from: channel, secret, command }) => {
      return JSON.stringify([number, end, channel, secret, command]);
    });
    const sent: Letters['sent'] = (kept) => {
      if (!kept) return undefined;
      return lines.map(({ number, isOwn }) => {
        return isOwn ? this.#answer(number, until) : Promise.resolve(undefined);
      });
    };
    const returned = (): void => {
      for (const { number, isOwn } of lines) if (isOwn) this.#settle(number, undefined);
    };
    return new Posted({ clock: this.#parts.clock, text: texts.join('\n'), sent, returned });
  }

  #next(): string {
    this.#count += 1;
    return `${this.#count}.${Math.floor(this.#parts.fraction() * 1e9)}`;
  }

  #answer(number: string, until: Micros): Promise<string | undefined> {
    const early = this.#answers.get(number);
    if (early !== undefined) return Promise.resolve(early);
    return new Promise((settle) => {
      this.#left.set(number, settle);
      void this.#expire(number, until);
    });
  }

  async #expire(number: string, until: Micros): Promise<void> {
    while (this.#left.has(number) && this.#members.now <= until) {
      const ms = Math.max(1, (until - this.#members.now) / 1000 + 1);
      await new Promise<void>((resolve) => void this.#parts.clock.after(ms, resolve, true));
    }
    this.#settle(number, undefined);
  }

  #settle(number: string, answer: string | undefined): void {
    this.#left.get(number)?.(answer);
    this.#left.delete(number);
  }

  received(key: string, lines: string): void {
    if (lines === '') return;
    for (const line of lines.split('\n')) {
      try {
        const [number, until, from, secret, command] = JSON.parse(line) as LeftLine;
        this.listener?.asked(key, command, { number, until, from, secret });
      } catch {
        // any client with rights to the key can leave anything
        this.#parts.dropped();
      }
    }
  }

  told(message: string, server: number): void {
    const space = message.indexOf(' ');
    const old = message[TOLD.length] === '!';
    const [proof, key] = [message.slice(old ? 2 : 1, space), message.slice(space + 1)];
    const isProvenBy = (secret: string): boolean => isEqual(keptProof(secret, key), proof);
    if (!this.secretsFor(key).some(isProvenBy)) throw new TypeError('a message without a proof');
    if (this.#versions.of(key) === undefined) this.#early.set(key, [server, old]);
    else this.#collectLater(key, server, old);
  }

  handedOver(key: string): void {
    const early = this.#early.get(key);
    this.#early.delete(key);
    if (early !== undefined) this.#collectLater(key, ...early);
  }

  gathering(key: string): Promise<void> | undefined {
    return this.#gathering.get(key);
  }

  /** Collects commands: old ones now, and others unless a vote will bring them soon. */
  #collectLater(key: string, server: number, old: boolean): void {
    if (old) return this.#gather(key, server);
    const version = this.#versions.of(key);
    this.#parts.clock.after(COLLECT_MS, () => {
      if (version === this.#versions.of(key)) void this.#collect(key, server);
    });
  }

  #gather(key: string, server: number): void {
    if (this.#gathering.has(key)) return;
    const gathering = new Promise<void>((resolve) => {
      const timer = this.#parts.clock.after(GATHER_MS, resolve);
      void this.#collect(key, server).then(() => resolve(timer.cancel()));
    });
    this.#gathering.set(key, gathering);
    void gathering.then(() => this.#gathering.delete(key));
  }

  async #collect(key: string, server: number): Promise<void> {
    const own = this.#parts.own();
    if (own === undefined) return;
    const lines = await this.#members.all[server]?.acceptor.collect(key, own).catch(() => '');
    this.received(key, lines ?? '');
  }

  answered(message: string): boolean {
    if (!message.startsWith(ANSWERED)) return false;
    const [number = '', proof = ''] = message.slice(ANSWERED.length).split(' ', 2);
    const answer = message.slice(ANSWERED.length + number.length + proof.length + 2);
    if (!isProven(this.#parts.secret, `${number} ${answer}`, proof)) {
      throw new TypeError('an answer without a proof');
    }
    if (this.#left.has(number)) this.#settle(number, answer);
    else this.#answers.set(number, answer);
    return true;
  }

  answerTo({ from, number, secret }: Errand, reply: string): Message {
    const proof = proofOf(secret, `${number} ${reply}`);
    return { channel: from, text: `${ANSWERED}${number} ${proof} ${reply}` };
  }
}

const PROOF_LENGTH = 22;

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

function signed(secret: string, digest: Buffer): string {
  return createHmac('sha256', secret).update(digest).digest('base64url').slice(0, PROOF_LENGTH);
}

/** A server has SHA-1 only. */
function keptProof(secret: string, key: string): string {
  return createHash('sha1').update(`${secret} ${key}`).digest('hex');
}

function proofOf(secret: string, text: string): string {
  return signed(secret, digestOf(text));
}

function isEqual(wanted: string, given: string): boolean {
  const [one, other] = [Buffer.from(wanted), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function isProven(secret: string, text: string, proof: string): boolean {
  return isEqual(proofOf(secret, text), proof);
}

const handedText = (ballot: string, { next, key, value }: Handed): string =>
  `${ballot} ${next} ${key}\n${value}`;

/**
 * The message that hands a version over; the servers add the value.
 * @param ballot of the value
 * @param secret of the receiver
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

/** Reads such a message; `undefined` for another one. Throws without a proof. */
export function handedOf(
  text: string,
  ballot: string,
  secrets: (key: string) => readonly string[],
): Handed | undefined {
  if (!text.startsWith(HANDED)) return undefined;
  const end = text.indexOf('\n');
  const [next = '', proof = ''] = text.slice(HANDED.length, end).split(' ', 2);
  const key = text.slice(HANDED.length + next.length + proof.length + 2, end);
  const handed = { next, key, value: text.slice(end + 1) };
  const digest = digestOf(handedText(ballot, handed));
  if (secrets(key).some((secret) => isEqual(signed(secret, digest), proof))) return handed;
  throw new TypeError('a version without a proof');
}
