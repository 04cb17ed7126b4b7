/**
 * A client port that believes no reply without proof of its request. Clients have given replies to
 * the wrong commands: node-redis 5.12.1 does it after a reset while the process is busy.
 *
 *     call, its last argument is a proof --the reply repeats it-----------------> believed
 *                                         |--a reply without it-----------------> `OutOfStep`
 *                                         \--an error--> probe --its proof------> believed
 *                                                              |--the same error-> believed
 *                                                              \--another reply--> `OutOfStep`
 *
 * Each call has a proof of its own, so the reply to an earlier attempt of the same command is not
 * believed either. An error reply has no proof. A client that is out of step stays so until its
 * connection ends; so after an error reply, a probe on the same connection tells whether it was in
 * step. NOSCRIPT needs no probe: the call is repeated, with a proof.
 *
 * Invariant: a call is answered only by the run of the script that it asked for.
 */
import { randomBytes } from 'node:crypto';
import { type CallTerms, type ClientPort, over, type ScriptCall } from '../clients/port.js';
import { OutOfStep } from '../port.js';
import { isNoScript } from './error-replies.js';
import { PROOF } from './generated/scripts.js';

/** The script of a probe. */
const PROBE = 'return ARGV[1]';
/** What `answerWith` returns for a reply without the proof. */
export const NO_PROOF: unique symbol = Symbol('no proof');

/** The text of a script whose reply repeats the last argument of the call. */
export function provable(source: string): string {
  const [before, after] = PROOF;
  return `${before}${source}${after}`;
}

/** A port with proofs. */
export interface ProvenPort extends ClientPort {
  /** True if the last reply had no proof. */
  readonly isOutOfStep: () => boolean;
  /** The port without proofs. */
  readonly plain: ClientPort;
}

/** Begins at random: another copy of this code may use the same client. */
let count = randomBytes(4).readUInt32LE();
const nextProof = (): string => (count++).toString(36);

const proven = new WeakMap<ClientPort, ProvenPort>();

/** The port with proofs. There is one for each port. */
export function provenPort(port: ClientPort): ProvenPort {
  const known = proven.get(port);
  if (known !== undefined) return known;
  const made = newProvenPort(port);
  proven.set(port, made);
  proven.set(made, made);
  return made;
}

function newProvenPort(port: ClientPort): ProvenPort {
  let isOutOfStep = false;
  const outOfStep = (): OutOfStep => {
    isOutOfStep = true;
    return new OutOfStep(port.name);
  };

  const read = (raw: unknown, proof: string): unknown => {
    const answer = answerWith(proof, raw);
    if (answer === NO_PROOF) throw outOfStep();
    isOutOfStep = false;
    return answer;
  };

  /** Whether an error reply is believed: the same error answers the probe, or its proof does. */
  const probe = async (error: unknown, keys: readonly string[], of: CallTerms): Promise<never> => {
    const proof = nextProof();
    const answer = await port.eval(PROBE, keys.slice(0, 1), [proof], of).catch((second) => {
      if (port.isReply(second) && codeOf(second) === codeOf(error)) return proof;
      throw outOfStep();
    });
    if (answer !== proof) throw outOfStep();
    throw error;
  };

  const answered = (
    sent: Promise<unknown>,
    proof: string,
    keys: readonly string[],
    of: CallTerms = {},
  ): Promise<unknown> =>
    sent.then(
      (raw) => read(raw, proof),
      (error: unknown) => {
        if (isNoScript(error) || !port.isReply(error)) throw error;
        return probe(error, keys, of);
      },
    );

  return over(port, {
    isOutOfStep: () => isOutOfStep,
    plain: port,

    evalsha(calls: readonly ScriptCall[]): Promise<unknown>[] {
      const proofs = calls.map(nextProof);
      const sent = port.evalsha(
        calls.map((call, at) => ({ ...call, args: [...call.args, proofs[at] as string] })),
      );
      return calls.map((call, at) =>
        answered(sent[at] as Promise<unknown>, proofs[at] as string, call.keys, call),
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
  });
}

/** The result of a script, if its reply has the proof. See `scripts/lib/proof.lua`. */
export function answerWith(proof: string, raw: unknown): unknown {
  // the reply of a connection inside MULTI has its own error
  if (raw === 'QUEUED') return raw;
  if (typeof raw === 'string') {
    return raw.startsWith(`${proof} `) ? Number(raw.slice(proof.length + 1)) : NO_PROOF;
  }
  return Array.isArray(raw) && raw.length === 2 && raw[0] === proof ? raw[1] : NO_PROOF;
}

function codeOf(error: unknown): string {
  return String((error as Error).message).split(' ', 1)[0] as string;
}
