/** The commands of a proposal, of this process or left by others. */
import type { KeyCommand, KeyReply, Micros } from '../../engine/commands.js';
import type { Addressed } from '../../engine/serve.js';
import { encodePush } from '../push-text.js';
import { StoreFailure } from '../port.js';
import type { Applied } from './apply.js';
import { atCommit } from './commit-time.js';
import { shortened } from './known-time.js';
import { canWait, yields } from './patience.js';
import type { Errand, Leaving, Peers } from './peers.js';
import type { Message } from './register.js';
import { isRegisterError } from './register-error.js';
import { unchanged } from './state-codec.js';

export interface Pending {
  readonly command: KeyCommand;
  /** Set if another process left the command here. */
  readonly errand?: Errand | undefined;
  /** See `unheard.ts`. */
  readonly unheard?: { readonly id: string; readonly version: string } | undefined;
  /** How often another process was in its way, or did not apply it. */
  tries?: number;
  readonly resolve: (reply: KeyReply) => void;
  readonly reject: (failure: unknown) => void;
}

/** A command whose result is in the answer of a change. */
export const UNAWAITED: Pick<Pending, 'resolve' | 'reject'> = {
  resolve: () => undefined,
  reject: () => undefined,
};

const NONE: readonly Message[] = [];

/** A command lets no other process pass after so many tries. */
const TRIES_MAX = 40;
/** The same for a command that cannot be left to that process: it would never get its turn. */
const UNHELPED_TRIES_MAX = 3;

export function mayLeave({ command }: Pending): boolean {
  return canWait(command) && (command.op !== 'acquire' || command.channel !== '');
}

export function leavingOf(batch: readonly Pending[]): Leaving[] {
  return batch.filter(mayLeave).map(({ command, errand }) => {
    return { command: JSON.stringify(command), errand };
  });
}

export function mayYield(pending: Pending): boolean {
  const { command, tries = 0 } = pending;
  return yields(command) && tries < (mayLeave(pending) ? TRIES_MAX : UNHELPED_TRIES_MAX);
}

export function hindered(batch: readonly Pending[]): void {
  for (const one of batch) one.tries = (one.tries ?? 0) + 1;
}

/** A command is about the acquisition. */
export function isNamed(id: string, batch: readonly Pending[]): boolean {
  const text = JSON.stringify(id);
  return batch.some((one) => !one.unheard && JSON.stringify(one.command).includes(text));
}

/**
 * Drops commands that other processes left here, and repeat themselves by `latest`, and those of
 * `unheard.ts` for another state. Returns how many of the first `count`.
 */
export function dropLate(batch: Pending[], count: number, latest: Micros, current: string): number {
  let dropped = 0;
  for (let at = batch.length - 1; at >= 0; at--) {
    const { errand, unheard } = batch[at] as Pending;
    const isOld = unheard && (unheard.version !== current || isNamed(unheard.id, batch));
    if (isOld !== true && (errand === undefined || errand.until >= latest)) continue;
    batch.splice(at, 1);
    if (at < count) dropped += 1;
  }
  return dropped;
}

/** Answers to commands that other processes left here. Lost ones are asked for again. */
export function answersTo(
  batch: readonly Pending[],
  { replies }: Applied,
  peers: Peers | undefined,
): readonly Message[] {
  if (peers === undefined) return NONE;
  const latest = peers.latest();
  return batch.flatMap(({ errand }, at) => {
    const reply = replies[at] as KeyReply | StoreFailure;
    if (errand === undefined || reply instanceof StoreFailure || latest === Infinity) return [];
    return [peers.answerTo(errand, JSON.stringify(atCommit(reply, latest)))];
  });
}

/** See `shortened` for `late`. */
export function messagesOf(pushes: readonly Addressed[], late: Micros): readonly Message[] {
  if (pushes.length === 0) return NONE;
  return pushes.map(({ channel, push }) => {
    return { channel, text: encodePush(shortened(push, late)) };
  });
}

/** The answer to a left command; `undefined` if unreadable. */
export function replyOf(answer: string): KeyReply | undefined {
  try {
    return JSON.parse(answer) as KeyReply;
  } catch {
    return undefined;
  }
}

export function answerAll(batch: readonly Pending[], applied: Applied, stored: Micros): void {
  for (const [at, { resolve, reject }] of batch.entries()) {
    const reply = applied.replies[at] as KeyReply | StoreFailure;
    if (reply instanceof StoreFailure) reject(reply);
    else resolve(atCommit(reply, stored));
  }
}

export function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  const kind = isRegisterError(error) ? error.kind : 'unanswered';
  const failure = new StoreFailure(message, kind, error);
  // a register repeats no swap
  return kind === 'refused' ? unchanged(failure) : failure;
}
