/**
 * Counts the answers of one round.
 *
 * A bare round asks a majority, and the others when one of it does not agree or takes much longer
 * than usual.
 *
 * The round waits for a majority until the deadlines. After a greater promise, or without a
 * possible majority, the proposer asks again: then it waits as long as servers usually take.
 */
import { afterIo, type Clock, type Timer } from '../../base/clock.js';
import type { Vote } from './acceptor.js';
import type { Answer, Member } from './member.js';

export interface Round {
  readonly agreed: readonly Extract<Vote, { status: 'yes' }>[];
  readonly promised: string | undefined;
  readonly kept: boolean;
  /** A server that has not agreed may still have received the request. */
  readonly open: boolean;
  readonly spared: readonly Member[];
}

interface CountParts {
  readonly servers: number;
  readonly majority: number;
  readonly clock: Clock;
  /** In ms. */
  readonly slow: number;
  /** True if the first server may keep commands: then a refusal of another one adds no servers. */
  readonly leaves: boolean;
  readonly resolve: (round: Round) => void;
}

export class Count {
  over = false;
  readonly #parts: CountParts;
  readonly #agreed: Extract<Vote, { status: 'yes' }>[] = [];
  #promised: string | undefined;
  #kept = false;
  #pending: number;
  #open = false;
  #timer: Timer | undefined;
  #hedge: Timer | undefined;
  #spared: readonly Member[] = [];
  #askMore: ((member: Member) => void) | undefined;

  constructor(parts: CountParts) {
    this.#parts = parts;
    this.#pending = parts.servers;
  }

  /**
   * Servers to ask if needed.
   * @param slow called if they are asked because the others are slow
   */
  spare(members: readonly Member[], ask: (one: Member) => void, slow: () => void): void {
    if (members.length === 0 || this.over) return;
    this.#spared = members;
    this.#askMore = ask;
    const { clock } = this.#parts;
    const late = (): void => {
      if (this.over || this.#spared.length === 0) return;
      slow();
      this.#more();
    };
    // the answers may be here already
    this.#hedge = clock.after(this.#parts.slow, () => afterIo(clock, late));
  }

  add(answer: Answer): void {
    const { majority, clock, slow, leaves } = this.#parts;
    this.#pending -= 1;
    if (!('vote' in answer)) {
      this.#open ||= answer.sent;
    } else if (answer.vote.status === 'yes') {
      this.#agreed.push(answer.vote);
    } else if (answer.vote.status === 'no') {
      const { promised, kept } = answer.vote;
      if (promised > (this.#promised ?? '')) this.#promised = promised;
      this.#kept ||= kept;
    }
    if (this.#kept) return this.#end();
    const refused = 'vote' in answer && answer.vote.status === 'no';
    const waits = leaves && refused && this.#pending > this.#spared.length;
    if (!('vote' in answer) || (answer.vote.status !== 'yes' && !waits)) this.#more();
    if (this.#agreed.length >= majority || this.#pending === 0) {
      this.#end();
    } else if (this.#promised !== undefined || this.#agreed.length + this.#pending < majority) {
      this.#timer ??= clock.after(slow, () => afterIo(clock, () => this.#end()));
    }
  }

  #more(): void {
    const members = this.#spared;
    this.#spared = [];
    this.#hedge?.cancel();
    for (const member of members) this.#askMore?.(member);
  }

  #end(): void {
    if (this.over) return;
    this.#timer?.cancel();
    this.#hedge?.cancel();
    this.over = true;
    this.#open ||= this.#pending > 0;
    this.#parts.resolve({
      ...{ agreed: this.#agreed, promised: this.#promised, kept: this.#kept },
      ...{ open: this.#open, spared: this.#spared },
    });
  }
}

export interface Made {
  readonly version: string;
  readonly deaf: readonly string[];
}

export const isMade = (one: Made | Round): one is Made => 'version' in one;

/** Channels on which no process hears a majority of the servers. */
export function deafAt(votes: Round['agreed'], majority: number): readonly string[] {
  const deaf = votes.flatMap((vote) => vote.deaf ?? []);
  const servers = (channel: string): number =>
    votes.filter((vote) => vote.deaf?.includes(channel)).length;
  return [...new Set(deaf)].filter((channel) => servers(channel) >= majority);
}

export function chosen(
  votes: Round['agreed'],
  majority: number,
): Round['agreed'][number] | undefined {
  return votes.find(({ ballot }) => {
    return votes.filter((one) => one.ballot === ballot).length >= majority;
  });
}
