/**
 * A client port that believes no reply without proof of its request ([decision
 * 28](../../../../../docs/decisions/0028-proof-of-replies.md)).
 *
 *     call, its last argument is a proof --the reply repeats it-----------------> believed
 *                                         |--a reply without it-----------------> `OutOfStep`
 *                                         \--an error--> probe --its proof------> believed
 *                                                              |--the same error-> believed
 *                                                              \--another reply--> `OutOfStep`
 *
 * NOSCRIPT needs no probe: the call is repeated. `post` is the client's; `Posted` adds the proof
 * and judges the reply.
 *
 * Invariant: only the run of the script that a call asked for answers it; each call has its own
 * proof.
 */
import { randomBytes } from 'node:crypto';
import type { KeyCommand, Reply } from '../../engine/commands.js';
import {
  type CallTerms,
  type ClientPort,
  over,
  type RawOutcome,
  type ScanPage,
  type ScriptCall,
} from '../clients/port.js';
import { type Outcome, OutOfStep } from '../port.js';
import { notQueued } from './codec.js';
import { isNoScript } from './error-replies.js';
import { PROOF } from './generated/scripts.js';
import { PROBE } from '../clients/scan.js';

export function provable(source: string): string {
  const [before, after] = PROOF;
  return `${before}${source}${after}`;
}

export interface ProvenPort extends ClientPort {
  readonly proofs: Proofs;
  readonly plain: ClientPort;
}

/** Random at first: another copy of this code may use the client. */
let count = randomBytes(4).readUInt32LE();
export const nextProof = (): string => (count++).toString(36);

const proven = new WeakMap<ClientPort, ProvenPort>();

export function provenPort(port: ClientPort): ProvenPort {
  const known = proven.get(port);
  if (known !== undefined) return known;
  const made = newProvenPort(port);
  proven.set(port, made);
  proven.set(made, made);
  return made;
}

export class Proofs {
  /** The last reply had no proof. */
  isOutOfStep = false;
  readonly #port: ClientPort;

  constructor(port: ClientPort) {
    this.#port = port;
  }

  /** The result of a script. Throws without its proof, see `scripts/lib/proof.lua`. */
  read(raw: unknown, proof: string): unknown {
    this.isOutOfStep = false;
    if (typeof raw === 'string') {
      if (raw.startsWith(`${proof} `)) return Number(raw.slice(proof.length + 1));
      // a connection inside MULTI has its own error
      if (raw === 'QUEUED') return raw;
    }
    if (Array.isArray(raw) && raw.length === 2 && raw[0] === proof) return raw[1];
    throw this.#outOfStep();
  }

  isCertain(error: unknown): boolean {
    return isNoScript(error) || !this.#port.isReply(error);
  }

  async probe(error: unknown, keys: readonly string[], of: CallTerms = {}): Promise<never> {
    const port = this.#port;
    const proof = nextProof();
    const answer = await port.eval(PROBE, keys.slice(0, 1), [proof], of).catch((second) => {
      // the connection has ended since: neither reply is known
      if (!port.isReply(second)) throw second;
      if (codeOf(second) === codeOf(error)) return proof;
      throw this.#outOfStep();
    });
    if (answer !== proof) throw this.#outOfStep();
    throw error;
  }

  #outOfStep(): OutOfStep {
    this.isOutOfStep = true;
    return new OutOfStep(this.#port.name);
  }
}

/** What the commands of one store share that are posted. */
export interface PostedParts {
  readonly client: ProvenPort;
  /** False on a cluster, see `Store.connection`. */
  readonly ordered: boolean;
  readonly answerTo: (command: KeyCommand, raw: unknown) => Reply;
  /** Throws if the client may have sent the command twice. */
  readonly refuseTwice: (reply: Reply, command: KeyCommand) => void;
  /** Sends a call again that was not executed, or rejects with the failure. */
  readonly again: (
    command: KeyCommand,
    call: ScriptCall,
    error: unknown,
    connection: unknown,
  ) => Promise<Reply>;
}

const REPLACED = Symbol('replaced');

/**
 * One command as one call, and the receiver between client and request.
 *
 *     posted --a reply with its proof--> decoded, and given to the request
 *        \--an error--> (a probe) --> repeated, if that may help --> answered or failed
 */
export class Posted implements RawOutcome {
  readonly proof: string = nextProof();
  readonly #call: ScriptCall;
  readonly #parts: PostedParts;
  readonly #command: KeyCommand;
  readonly #to: Outcome;

  constructor(parts: PostedParts, command: KeyCommand, call: ScriptCall, to: Outcome) {
    this.#call = call;
    this.#parts = parts;
    this.#command = command;
    this.#to = to;
  }

  answered(raw: unknown, isSame: boolean): void {
    const { client, ordered, answerTo, refuseTwice } = this.#parts;
    let reply: Reply;
    try {
      reply = answerTo(this.#command, client.proofs.read(raw, this.proof));
      if (!isSame) refuseTwice(reply, this.#command);
    } catch (error) {
      return error instanceof OutOfStep ? this.#again(error, isSame) : this.#to.erred(error);
    }
    this.#to.replied(reply, isSame && ordered);
  }

  failed(error: unknown, isSame: boolean): void {
    const { proofs } = this.#parts.client;
    if (proofs.isCertain(error)) return this.#again(error, isSame);
    proofs.probe(error, this.#call.keys).catch((second: unknown) => this.#again(second, isSame));
  }

  #again(error: unknown, isSame: boolean): void {
    const { client, ordered, again } = this.#parts;
    const connection = isSame ? client.connection() : REPLACED;
    again(this.#command, this.#call, error, connection).then(
      (reply) => this.#to.replied(reply, ordered && client.connection() === connection),
      (second: unknown) => this.#to.erred(second),
    );
  }
}

function newProvenPort(port: ClientPort): ProvenPort {
  const proofs = new Proofs(port);

  const answered = (
    sent: Promise<unknown>,
    proof: string,
    keys: readonly string[],
    of: CallTerms = {},
  ): Promise<unknown> =>
    sent.then(
      (raw) => proofs.read(raw, proof),
      (error: unknown) => {
        if (proofs.isCertain(error)) throw error;
        return proofs.probe(error, keys, of);
      },
    );

  return over(port, {
    proofs,
    plain: port,

    evalsha(calls: readonly ScriptCall[]): Promise<unknown>[] {
      const each = calls.map(nextProof);
      const sent = port.evalsha(
        calls.map((call, at) => ({ ...call, args: [...call.args, each[at] as string] })),
      );
      return calls.map((call, at) =>
        answered(sent[at] as Promise<unknown>, each[at] as string, call.keys, call),
      );
    },

    eval(
      source: string,
      keys: readonly string[],
      args: readonly string[],
      of?: CallTerms,
    ): Promise<unknown> {
      const proof = nextProof();
      return answered(port.eval(source, keys, [...args, proof], of), proof, keys, of);
    },

    async scan(cursor: string, match: string, count: number): Promise<ScanPage> {
      const proof = nextProof();
      if (port.cluster?.masters().length === 0) await port.cluster.refresh('');
      const sent = port.scan(cursor, match, count, proof).then((page) => {
        if (page.answer === 'QUEUED') return page.answer;
        return Array.isArray(page.keys) && [page.answer, page];
      });
      return notQueued(await answered(sent, proof, [])) as ScanPage;
    },
  });
}

function codeOf(error: unknown): string {
  return String((error as Error).message).split(' ', 1)[0] as string;
}
