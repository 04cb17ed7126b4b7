/**
 * The requests to one server: those under way, limited in number and bytes, and those that wait
 * ([decision 30](../../../../docs/decisions/0030-requests-wait-for-their-turn.md)).
 *
 *     posted --room, and none waits--> under way --answered, failed, deadline--> over
 *        \--otherwise--> waits --room--> under way
 *                          \--no request is answered within its time limit--> failed
 *
 * Requests that keep a lease or a place in a queue never wait: they are few. Of the others, those
 * that end something go first, but not before those that came long before them.
 *
 * Invariants: waiting requests of one key are sent in the order of posting. Those that never wait
 * may overtake others of their key: they change neither its holders nor the order of its queue.
 * While a request waits, another is under way, or a flush is due.
 */
import type { Command, Op } from '../engine/commands.js';

const AT_ONCE = 0;
const ENDS = 1;
const ASKS = 2;
type Rank = typeof AT_ONCE | typeof ENDS | typeof ASKS;

const RANKS: Readonly<Partial<Record<Op, Rank>>> = {
  ...{ renew: AT_ONCE, renewMany: AT_ONCE, poll: AT_ONCE },
  ...{ release: ENDS, turn: ENDS, park: ENDS, signal: ENDS, arrive: ENDS },
};

/** What asks goes before what ends something and came so much later, in ms. */
const LATER = 300;

/** The bytes under way at one server, about. */
const BYTES_MAX = 4 * 2 ** 20;
/** The bytes of a command without its texts, about; and of an id. */
const FRAME = 256;
const ID = 40;

export interface Posted {
  readonly command: Command;
  posted: number;
  rank: Rank;
  next: Posted | undefined;
  bytes: number;
}

/** An array would be copied each time it becomes shorter. */
class Queue<P extends Posted> {
  first: P | undefined;
  #last: P | undefined;

  push(posted: P): void {
    if (this.first === undefined) this.first = posted;
    else (this.#last as P).next = posted;
    this.#last = posted;
  }

  shift(): P | undefined {
    const { first } = this;
    this.first = first?.next as P | undefined;
    if (first !== undefined) first.next = undefined;
    return first;
  }
}

export class Backlog<P extends Posted> {
  readonly #max: number;
  #count = 0;
  #bytes = 0;
  readonly #ends = new Queue<P>();
  readonly #asks = new Queue<P>();
  /** The last waiting request of each key. Only this class writes it. */
  readonly waiting: Map<string, P> = new Map<string, P>();
  answers = 0;

  constructor(max: number) {
    this.#max = max;
  }

  admit(posted: P, atOnce: boolean, now: number): boolean {
    const { command } = posted;
    const rank = atOnce ? AT_ONCE : (RANKS[command.op] ?? ASKS);
    const hasRoom = this.#count < this.#max && this.#bytes < BYTES_MAX;
    if (rank === AT_ONCE || (hasRoom && this.waiting.size === 0)) {
      this.#count += 1;
      this.#bytes += posted.bytes = bytesOf(command);
      return true;
    }
    const key = keyOf(command);
    posted.rank = Math.max(rank, this.waiting.get(key)?.rank ?? rank) as Rank;
    posted.posted = now;
    this.waiting.set(key, posted);
    (posted.rank === ENDS ? this.#ends : this.#asks).push(posted);
    return false;
  }

  *take(): Iterable<P> {
    while (this.#count < this.#max && this.#bytes < BYTES_MAX) {
      const next = this.#next();
      if (next === undefined) return;
      this.#count += 1;
      this.#bytes += next.bytes = bytesOf(next.command);
      yield next;
    }
  }

  /** Takes those that wait since `before` or longer. */
  *takeSince(before: number): Iterable<P> {
    for (const queue of [this.#ends, this.#asks]) {
      while (queue.first !== undefined && queue.first.posted <= before) {
        yield this.#shift(queue) as P;
      }
    }
  }

  ended(posted: P): boolean {
    if (posted.bytes === 0) return false;
    this.#count -= 1;
    this.#bytes -= posted.bytes;
    posted.bytes = 0;
    return this.waiting.size > 0;
  }

  /** Those of the same key that came before are never passed: they are in front of `ends.first`. */
  #next(): P | undefined {
    const [end, ask] = [this.#ends.first, this.#asks.first];
    const first = end && ask && ask.posted + LATER < end.posted ? this.#asks : this.#ends;
    return this.#shift(first) ?? this.#shift(this.#asks);
  }

  #shift(queue: Queue<P>): P | undefined {
    const first = queue.shift();
    if (first === undefined) return undefined;
    const key = keyOf(first.command);
    if (this.waiting.get(key) === first) this.waiting.delete(key);
    return first;
  }
}

export class Backlogs<P extends Posted> {
  readonly #max: number;
  /** The first one is for one server, and before the servers are known. */
  readonly all: Backlog<P>[];
  readonly #shards = new Map<string, Backlog<P>>();

  constructor(max: number) {
    this.#max = max;
    this.all = [new Backlog(max)];
  }

  /** A key keeps its backlog while a request of it waits, also if its server changes. */
  of(command: Command, shardOf: ((key: string) => string) | undefined): Backlog<P> {
    const key = keyOf(command);
    for (const one of this.all) if (one.waiting.has(key)) return one;
    const shard = shardOf?.(key) ?? '';
    let backlog = this.#shards.get(shard);
    if (backlog === undefined) {
      backlog = new Backlog(this.#max);
      this.#shards.set(shard, backlog);
      this.all.push(backlog);
    }
    return backlog;
  }
}

function keyOf(command: Command): string {
  return command.op === 'renewMany' ? (command.keys[0] as string) : command.key;
}

function bytesOf(command: Command): number {
  if (command.op === 'renewMany') {
    return command.keys.reduce((sum, key) => sum + key.length + ID, FRAME);
  }
  const more = command.op === 'acquire' ? command.meta.length : 0;
  return FRAME + command.key.length + (command.op === 'poll' ? ID * command.ids.length : more);
}
