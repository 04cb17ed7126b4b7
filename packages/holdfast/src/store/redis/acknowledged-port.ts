/**
 * A client port whose calls count only when enough replicas have their writes. It has one
 * connection to each master, on which nothing else waits.
 *
 *     a call --> queued --no round under way--> round: the calls, then one WAIT
 *                                                 |--enough--> answered
 *                                                 |--another life of the server--> rejected
 *                                                 \--too few, or the connection ended--> rejected
 *
 * The calls of a round and their WAIT are written together, so they fail together. Nothing is sent
 * again. A call that confirms a grant is sent only if the server's memory is old enough, see
 * `memory-age.ts`.
 */
import { scriptWords } from '../clients/common.js';
import { type Line, openLine } from '../clients/line.js';
import { type ClientPort, over, type ScriptCall } from '../clients/port.js';
import { systemClock, type Timer } from '../../base/clock.js';
import type { AcknowledgeTerms } from '../port.js';
import { isSameLife, markerOf, type Memory, memoryAt } from './memory-age.js';
import { slotOf } from './hash-slot.js';

export const TOO_FEW = 'too few replicas';

/** The part of a request's time limit for WAIT: a call may wait for an earlier round. */
const WAIT_PART = 0.4;
/** The time for the reply, beyond WAIT's time limit. */
const MARGIN = 200;
const ROUND_MAX = 500;
const TAGS_MAX = 500_000;

interface Call {
  readonly words: readonly string[];
  /** The least age of the server's memory, in ms; 0 for a call that confirms no grant. */
  readonly age: number;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class AcknowledgedPort {
  readonly port: ClientPort;
  readonly #rounds = new Map<string, Rounds>();
  readonly #client: ClientPort;
  readonly #prefix: string;
  readonly #terms: AcknowledgeTerms;

  constructor(client: ClientPort, prefix: string, terms: AcknowledgeTerms) {
    this.#client = client;
    this.#prefix = prefix;
    this.#terms = terms;
    this.port = this.confirming(0);
  }

  /** A port for calls that confirm grants. */
  confirming(age: number): ClientPort {
    const client = this.#client;
    const { keyPrefix } = client;
    const send = (
      words: string[],
      keys: readonly string[],
      args: readonly string[],
    ): Promise<unknown> =>
      this.#at(keyPrefix + keys[0]).send(scriptWords(words, keyPrefix, keys, args), age);
    return over(client, {
      writesLater: true,
      post: undefined,
      evalsha: (calls: readonly ScriptCall[]) =>
        calls.map(({ sha, keys, args }) => send(['EVALSHA', sha], keys, args)),
      eval: (source: string, keys: readonly string[], args: readonly string[]) =>
        send(['EVAL', source], keys, args),
      connection: () => undefined,
      // a node that redirects has not executed the command; another will
      isReply: (error: unknown) =>
        client.isReply(error) && !/^(MOVED|ASK) /.test((error as Error).message),
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#rounds.values()].map((rounds) => rounds.close()));
  }

  #at(name: string): Rounds {
    const address = this.#client.cluster?.masterOf(slotOf(name)) ?? '';
    let rounds = this.#rounds.get(address);
    if (rounds === undefined) {
      rounds = new Rounds(this.#client, address, this.#prefix, this.#terms);
      this.#rounds.set(address, rounds);
    }
    return rounds;
  }
}

interface Opened {
  readonly line: Line;
  memory: Memory | undefined;
}

class Rounds {
  readonly #client: ClientPort;
  readonly #address: string;
  readonly #prefix: string;
  readonly #replicas: number;
  readonly #guarded: boolean;
  readonly #ms: number;
  #queue: Call[] = [];
  #opened: Opened | undefined;
  #going = false;
  #closed = false;

  constructor(client: ClientPort, address: string, prefix: string, terms: AcknowledgeTerms) {
    this.#client = client;
    this.#address = address;
    this.#prefix = client.keyPrefix + prefix;
    this.#replicas = terms.replicas;
    this.#guarded = terms.restartGuard !== 0;
    this.#ms = Math.max(1, Math.floor(WAIT_PART * terms.requestTimeout));
  }

  send(words: readonly string[], age: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ words, age, resolve, reject });
      if (!this.#going) void this.#go();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#drop();
  }

  async #go(): Promise<void> {
    this.#going = true;
    // all calls of this turn belong to the first round
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const calls = this.#queue.splice(0, ROUND_MAX);
      try {
        await this.#round(calls);
      } catch (error) {
        for (const { reject } of calls) reject(error);
        void this.#drop();
      }
    }
    this.#going = false;
  }

  async #round(all: readonly Call[]): Promise<void> {
    if (this.#closed) throw new Error('this instance is closed');
    const limit = this.#ms + MARGIN;
    const opened = (this.#opened ??= await this.#open(limit));
    const calls = await this.#counting(opened, all, limit);
    if (calls.length === 0) return;
    const { line, memory } = opened;
    const end = [
      ...(memory === undefined ? [] : [['INFO', 'replication']]),
      ['WAIT', `${this.#replicas}`, `${this.#ms}`],
    ];
    const answers = line.send([...calls.map(({ words }) => words), ...end]);
    for (const answer of answers) answer.catch(() => undefined);
    const [count, info] = await within(limit, Promise.all(answers.slice(calls.length).reverse()));
    if (memory !== undefined && !isSameLife(info, memory)) throw new Error(NOT_THE_SAME);
    const few = `${TOO_FEW} have acknowledged: ${String(count)} of ${this.#replicas}`;
    for (const [at, { resolve, reject }] of calls.entries()) {
      const answer = answers[at] as Promise<unknown>;
      const enough = Number(count) >= this.#replicas;
      answer.then((reply) => (enough ? resolve(reply) : reject(new Error(few))), reject);
      // the server is a replica now, or has lost the slot
      answer.catch((error: unknown) => {
        if (/^(READONLY|MOVED|ASK) /.test(String((error as Error).message))) void this.#drop();
      });
    }
    // a former master may be cut off; the next connection leads to the present one
    if (Number(count) < this.#replicas) void this.#drop();
  }

  async #counting(opened: Opened, calls: readonly Call[], limit: number): Promise<readonly Call[]> {
    if (!this.#guarded) return calls;
    const most = Math.max(...calls.map(({ age }) => age));
    // after a fail-over, only the marker tells the age
    if (opened.memory === undefined || isDue(opened.memory, most)) {
      opened.memory = await within(limit, memoryAt(opened.line, this.#marker()));
    }
    const { recorded, from } = opened.memory;
    for (const { age, reject } of calls) {
      if (age > recorded) reject(tooYoung(age - (systemClock.now() - from)));
    }
    return calls.filter(({ age }) => age <= recorded);
  }

  #marker(): string {
    const { cluster } = this.#client;
    if (cluster === undefined) return markerOf(this.#prefix);
    for (let tag = 0; tag < TAGS_MAX; tag++) {
      const name = markerOf(this.#prefix, tag);
      if (cluster.masterOf(slotOf(name)) === this.#address) return name;
    }
    throw new Error(`the client knows no slot of the master "${this.#address}"`);
  }

  async #open(limit: number): Promise<Opened> {
    let opened: Opened | undefined;
    const opening = openLine(this.#client, this.#address, () => {
      if (this.#opened === opened) void this.#drop();
    });
    try {
      opened = { line: await within(limit, opening.line), memory: undefined };
    } catch (error) {
      opening.close();
      throw error;
    }
    if (!this.#closed) return opened;
    await opened.line.close();
    throw new Error('this instance is closed');
  }

  async #drop(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.line.close();
  }
}

const NOT_THE_SAME = 'the server was replaced or restarted while it acknowledged';

/** The marker is old enough. */
function isDue({ recorded, from }: Memory, age: number): boolean {
  return age > recorded && systemClock.now() - from >= age;
}

function tooYoung(ms: number): Error {
  return new Error(
    'the master may have lost its memory: it was started a short time ago, or has the data of ' +
      `such a server. Grants count again in ${Math.ceil(ms / 1000)} s, see restartGuard`,
  );
}

function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer to WAIT within ${ms} ms`));
    const timer: Timer = systemClock.after(ms, late);
    answer.finally(() => timer.cancel()).then(resolve, reject);
  });
}
