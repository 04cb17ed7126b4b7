/**
 * A client port whose calls count only when enough replicas have their writes. It has one
 * connection to each master, on which nothing else waits.
 *
 *     a call --> queued --no round under way--> round: the calls, then one WAIT
 *                                                 |--enough--> answered
 *                                                 \--too few, or the connection ended--> rejected
 *
 * WAIT covers the writes of its connection. The calls and their WAIT are written together, so they
 * are on one connection or fail together. Nothing is sent again.
 */
import { scriptWords } from '../../clients/common.js';
import { type Line, openLine } from '../../clients/line.js';
import type { ClientPort, ScriptCall } from '../../clients/port.js';
import { systemClock, type Timer } from '../../clock.js';
import type { AcknowledgeTerms } from '../port.js';
import { slotOf } from './slots.js';

/** The start of the message if too few replicas have acknowledged. */
export const TOO_FEW = 'too few replicas';

/** The part of a request's time limit that WAIT may take: a call may wait for a round before. */
const WAIT_PART = 0.4;
/** Ms for the reply beyond the time limit of WAIT. */
const MARGIN = 200;
const ROUND_MAX = 500;

interface Call {
  readonly words: readonly string[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class AcknowledgedPort {
  readonly port: ClientPort;
  readonly #rounds = new Map<string, Rounds>();
  readonly #client: ClientPort;
  readonly #terms: AcknowledgeTerms;

  constructor(client: ClientPort, terms: AcknowledgeTerms) {
    this.#client = client;
    this.#terms = terms;
    const { keyPrefix } = client;
    const send = (
      words: string[],
      keys: readonly string[],
      args: readonly string[],
    ): Promise<unknown> =>
      this.#at(keyPrefix + keys[0]).send(scriptWords(words, keyPrefix, keys, args));
    this.port = {
      ...client,
      writesLater: true,
      evalsha: (calls: readonly ScriptCall[]) =>
        calls.map(({ sha, keys, args }) => send(['EVALSHA', sha], keys, args)),
      eval: (source, keys, args) => send(['EVAL', source], keys, args),
      connection: () => undefined,
      // a node that redirects has not executed the command; another one will
      isReply: (error) => client.isReply(error) && !/^(MOVED|ASK) /.test((error as Error).message),
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#rounds.values()].map((rounds) => rounds.close()));
  }

  #at(name: string): Rounds {
    const address = this.#client.cluster?.masterOf(slotOf(name)) ?? '';
    let rounds = this.#rounds.get(address);
    if (rounds === undefined) {
      rounds = new Rounds(this.#client, address, this.#terms);
      this.#rounds.set(address, rounds);
    }
    return rounds;
  }
}

/** The rounds at one master. */
class Rounds {
  readonly #client: ClientPort;
  readonly #address: string;
  readonly #replicas: number;
  readonly #ms: number;
  #queue: Call[] = [];
  #line: Line | undefined;
  #going = false;
  #closed = false;

  constructor(client: ClientPort, address: string, terms: AcknowledgeTerms) {
    this.#client = client;
    this.#address = address;
    this.#replicas = terms.replicas;
    this.#ms = Math.max(1, Math.floor(WAIT_PART * terms.requestTimeout));
  }

  send(words: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ words, resolve, reject });
      if (!this.#going) void this.#go();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#drop();
  }

  async #go(): Promise<void> {
    this.#going = true;
    // all calls of this turn of the event loop belong to the first round
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

  async #round(calls: readonly Call[]): Promise<void> {
    if (this.#closed) throw new Error('this instance is closed');
    const limit = this.#ms + MARGIN;
    const line = (this.#line ??= await this.#open(limit));
    const wait = ['WAIT', `${this.#replicas}`, `${this.#ms}`];
    const answers = line.send([...calls.map(({ words }) => words), wait]);
    for (const answer of answers) answer.catch(() => undefined);
    const count = await within(limit, answers.at(-1) as Promise<unknown>);
    const few = `${TOO_FEW} have acknowledged: ${String(count)} of ${this.#replicas}`;
    for (const [at, { resolve, reject }] of calls.entries()) {
      const answer = answers[at] as Promise<unknown>;
      const enough = Number(count) >= this.#replicas;
      answer.then((reply) => (enough ? resolve(reply) : reject(new Error(few))), reject);
      // the server is a replica now, or has not the slot any more
      answer.catch((error: unknown) => {
        if (/^(READONLY|MOVED|ASK) /.test(String((error as Error).message))) void this.#drop();
      });
    }
    // a former master may be cut off; the next connection leads to the present one
    if (Number(count) < this.#replicas) void this.#drop();
  }

  async #open(limit: number): Promise<Line> {
    const opening = openLine(this.#client, this.#address);
    try {
      const line = await within(limit, opening);
      if (!this.#closed) return line;
    } catch (error) {
      opening.then(
        (line) => line.close(),
        () => undefined,
      );
      throw error;
    }
    await (await opening).close();
    throw new Error('this instance is closed');
  }

  async #drop(): Promise<void> {
    const line = this.#line;
    this.#line = undefined;
    await line?.close();
  }
}

function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer to WAIT within ${ms} ms`));
    const timer: Timer = systemClock.after(ms, late);
    answer.finally(() => timer.cancel()).then(resolve, reject);
  });
}
