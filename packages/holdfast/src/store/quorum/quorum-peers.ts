/**
 * Processes that contend for a key help each other, so that they do not overtake each other's
 * ballots again and again.
 *
 * The ballot follows the lock. An accept promises the next ballot. If another process will probably
 * change the key next (the new holder), the proposer does not use that ballot. The servers publish
 * it with the value to the other process. Once a majority has published both, that process knows
 * what a majority of promises would tell it, so it needs no read:
 *
 *     =next ballot key\nvalue        with the ballot of the value, by each server that accepts it
 *
 * A ballot is used by one process, once. The proposer gave it away before anyone could use it.
 *
 * Commands that can wait go to the owner of the ballot, which applies them with its next change:
 *
 *     >number until ballot from key\ncommand     to the owner, by a majority of the servers
 *     >number                                    from a process that does not own the ballot
 *     <number answer                             with the change
 *
 * A command is not applied later than `until`, by the clock of the quorum. Its sender repeats it
 * only when that time has passed.
 */
import type { Clock } from '../../clock.js';
import type { Micros } from '../../engine/commands.js';
import type { Errand, Message, PeerListener, Peers } from '../register/register.js';
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
}

export class QuorumPeers implements Peers {
  listener: PeerListener | undefined;
  readonly #members: Members;
  readonly #clock: Clock;
  readonly #fraction: () => number;
  readonly #own: () => string | undefined;
  readonly #versions: Versions;
  readonly #owners = new Map<string, Owner & { readonly at: number }>();
  /** The channels of owners that did not answer, and since when. */
  readonly #silent = new Map<string, number>();
  readonly #left = new Map<string, (answer: string | undefined) => void>();
  /** What was told about versions that this process does not have yet. */
  readonly #early: string[] = [];
  /** The commands that came lately: each comes by several servers. */
  readonly #told = new Set<string>();
  #count = 0;

  /** @param own the channel of this process, if it listens */
  constructor(
    members: Members,
    versions: Versions,
    { clock, fraction }: { readonly clock: Clock; readonly fraction: () => number },
    own: () => string | undefined,
  ) {
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

  async leave(owner: string, key: string, command: string): Promise<string | undefined> {
    const from = this.#own();
    const { now } = this.#members;
    const next = this.#owners.get(key)?.next;
    if (from === undefined || next === undefined || now === 0) return undefined;
    this.#count += 1;
    const number = `${this.#count}.${Math.floor(this.#fraction() * 1e9)}`;
    const until = now + LEAVE;
    const text = `${TOLD}${number} ${until} ${next} ${from.length} ${from}${key}\n${command}`;
    const answer = new Promise<string | undefined>((resolve) => this.#left.set(number, resolve));
    this.#members.tell(key, { channel: owner, text });
    void this.#expire(number, owner, until);
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
    this.#left.get(number)?.(answer);
    this.#left.delete(number);
  }

  /** Reads what another process told. It must name a version that was handed over to this one. */
  told(text: string): void {
    const declined = /^>(\S+)$/.exec(text)?.[1];
    if (declined !== undefined) return this.#settle(declined, undefined);
    const found = /^>(\S+) (\d+) (\d+) (\d+) /.exec(text);
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
      if (this.#early.length < EARLY_MAX) this.#early.push(text);
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
  answered(text: string): boolean {
    if (!text.startsWith(ANSWERED)) return false;
    const space = text.indexOf(' ');
    this.#settle(text.slice(ANSWERED.length, space), text.slice(space + 1));
    return true;
  }

  decline({ from, number }: Errand): void {
    this.#members.tell(from, { channel: from, text: `${TOLD}${number}` });
  }

  answerTo({ from, number }: Errand, reply: string): Message {
    return { channel: from, text: `${ANSWERED}${number} ${reply}` };
  }
}

/** The message that hands a version over. The servers add the value. */
export function handOverOf(channel: string, key: string, next: string): Message {
  return { channel, text: `${HANDED}${next} ${key}\n` };
}

/** Reads such a message; `undefined` if it is another one. */
export function handedOf(text: string): Handed | undefined {
  if (!text.startsWith(HANDED)) return undefined;
  const end = text.indexOf('\n');
  const space = text.indexOf(' ');
  return {
    next: text.slice(HANDED.length, space),
    key: text.slice(space + 1, end),
    value: text.slice(end + 1),
  };
}
