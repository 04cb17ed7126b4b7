/**
 * The value that acceptors keep for a key: the state of the register, and what other proposers need
 * to complete it or to find out what became of it.
 */
import type { Micros } from '../../engine/commands.js';
import type { Message } from '../register/register.js';

/** The number of changes that a record remembers. */
const ORIGINS_MAX = 16;
/** The most messages that are sent again. */
const MESSAGES_MAX = 100;

export interface QuorumRecord {
  /**
   * Servers keep the record until this time. It never shrinks from change to change: a server that
   * missed a change would otherwise keep an older state for longer than the others keep the change,
   * and a released lease would come back.
   */
  readonly keep: Micros;
  /** The ballots of this change and of those before it, the latest first. */
  readonly origins: readonly string[];
  /** Sent again by a proposer that completes this change. */
  readonly messages: readonly Message[];
  readonly state: string;
}

export const EMPTY: QuorumRecord = { keep: 0, origins: [], messages: [], state: '' };

/** The record of a change to `base`. */
export function changed(
  base: QuorumRecord,
  origin: string,
  change: Pick<QuorumRecord, 'keep' | 'messages' | 'state'>,
): QuorumRecord {
  return {
    state: change.state,
    keep: Math.max(base.keep, change.keep),
    origins: [origin, ...base.origins].slice(0, ORIGINS_MAX),
    messages: change.messages.slice(-MESSAGES_MAX),
  };
}

/**
 * True if the record names all changes since `base`, or since an earlier state. The second is so if
 * `base` was the state of an interrupted swap, and other processes continued without it.
 */
export function follows(record: QuorumRecord, base: QuorumRecord): boolean {
  const isWhole = record.origins.length < ORIGINS_MAX;
  return isWhole || base.origins.some((origin) => record.origins.includes(origin));
}

export function encodeRecord({ keep, origins, messages, state }: QuorumRecord): string {
  const texts = messages.flatMap(({ channel, text }) => [channel, text]);
  return `${JSON.stringify([keep, origins, texts])}\n${state}`;
}

/** Throws for a text that `encodeRecord` did not write. */
export function decodeRecord(value: string): QuorumRecord {
  if (value === '') return EMPTY;
  const end = value.indexOf('\n');
  const [keep, origins, texts] = JSON.parse(value.slice(0, end)) as [number, string[], string[]];
  const messages: Message[] = [];
  for (let at = 0; at < texts.length; at += 2) {
    messages.push({ channel: texts[at] as string, text: texts[at + 1] as string });
  }
  return { keep, origins, messages, state: value.slice(end + 1) };
}
