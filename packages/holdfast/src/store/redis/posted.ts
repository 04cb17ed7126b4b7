/**
 * One command as one call, and the receiver between client and request.
 *
 *     posted --a reply with its proof--> decoded, and given to the request
 *        \--an error--> (a probe) --> repeated, if that may help --> answered or failed
 */
import type { KeyCommand, Reply } from '../../engine/commands.js';
import type { RawOutcome, ScriptCall } from '../clients/port.js';
import { type Outcome, OutOfStep, StoreFailure } from '../port.js';
import { answerTo } from './codec.js';
import type { ProvenPort } from './proven-port.js';

export interface PostedParts {
  readonly client: ProvenPort;
  /** False on a cluster: while a slot moves, requests of a key go to two nodes. */
  readonly ordered: boolean;
  /** Sends a call again that was not executed, or rejects with the failure. */
  readonly again: (
    command: KeyCommand,
    call: ScriptCall,
    error: unknown,
    connection: unknown,
  ) => Promise<Reply>;
}

const REPLACED = Symbol('replaced');

export class Posted implements RawOutcome {
  readonly #call: ScriptCall;
  readonly #proof: string;
  readonly #parts: PostedParts;
  readonly #command: KeyCommand;
  readonly #to: Outcome;

  constructor(
    parts: PostedParts,
    command: KeyCommand,
    call: ScriptCall,
    proof: string,
    to: Outcome,
  ) {
    this.#proof = proof;
    this.#call = call;
    this.#parts = parts;
    this.#command = command;
    this.#to = to;
  }

  answered(raw: unknown, isSame: boolean): void {
    const { client, ordered } = this.#parts;
    let reply: Reply;
    try {
      reply = answerTo(this.#command, client.proofs.read(raw, this.#proof));
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
    const call = { ...this.#call, args: this.#call.args.slice(0, -1) };
    const connection = isSame ? client.connection() : REPLACED;
    again(this.#command, call, error, connection).then(
      (reply) => this.#to.replied(reply, ordered && client.connection() === connection),
      (second: unknown) => this.#to.erred(second),
    );
  }
}

/**
 * After a change of connection the client may have sent a release twice. The second finds nothing,
 * so the first one's result is unknown; so it is with an arrival at a generation that the gate
 * forgot.
 */
export function refuseTwice(reply: Reply, { op }: KeyCommand): void {
  const nothing = (op === 'release' || op === 'turn') && reply.status === 'absent';
  const late = op === 'arrive' && reply.status === 'gate' && reply.rank < 0 && !reply.sure;
  if (!nothing && !late) return;
  const message = 'the connection was replaced before the reply arrived';
  throw new StoreFailure(message, 'unanswered', undefined);
}
