/**
 * The value of a key at the acceptors: the register's state, and what other proposers need to
 * complete it or to find out what became of it.
 */
import type { Micros } from '../../engine/commands.js';
import type { Message } from '../register/register.js';

const ORIGINS_MAX = 16;
const PEERS_MAX = 8;

export type Peer = readonly [channel: string, secret: string];

export interface QuorumRecord {
  /**
   * Until when servers keep the record. It never shrinks: otherwise a server that missed a release
   * would keep the lease for longer than the others keep the release.
   */
  readonly keep: Micros;
  /** The ballots of this change and those before, the latest first. */
  readonly origins: readonly string[];
  /** A proposer that completes this change sends them again. */
  readonly messages: readonly Message[];
  readonly fence: number;
  readonly peers: readonly Peer[];
  readonly state: string;
}

export const EMPTY: QuorumRecord = {
  ...{ keep: 0, fence: 0, origins: [], peers: [], messages: [], state: '' },
};

export function changed(
  base: QuorumRecord,
  origin: string,
  own: Peer | undefined,
  change: Omit<QuorumRecord, 'origins' | 'peers'>,
): QuorumRecord {
  const others = base.peers.filter(([channel]) => channel !== own?.[0]);
  return {
    state: change.state,
    fence: Math.max(base.fence, change.fence),
    keep: Math.max(base.keep, change.keep),
    peers: own === undefined ? base.peers : [own, ...others].slice(0, PEERS_MAX),
    origins: [origin, ...base.origins].slice(0, ORIGINS_MAX),
    messages: change.messages,
  };
}

/**
 * True if the record names all changes since `base`, or an earlier state: `base` may come from an
 * interrupted swap that others overtook.
 */
export function follows(record: QuorumRecord, base: QuorumRecord): boolean {
  const isWhole = record.origins.length < ORIGINS_MAX;
  return isWhole || base.origins.some((origin) => record.origins.includes(origin));
}

export function encodeRecord(record: QuorumRecord): string {
  const { keep, fence, origins, peers, messages, state } = record;
  const texts = messages.flatMap(({ channel, text }) => [channel, text]);
  return `${JSON.stringify([keep, origins, texts, fence, peers])}\n${state}`;
}

export function decodeRecord(value: string): QuorumRecord {
  if (value === '') return EMPTY;
  const end = value.indexOf('\n');
  type Head = [number, string[], string[], number?, Peer[]?];
  const [keep, origins, texts, fence = 0, peers = []] = JSON.parse(value.slice(0, end)) as Head;
  const messages: Message[] = [];
  for (let at = 0; at < texts.length; at += 2) {
    messages.push({ channel: texts[at] as string, text: texts[at + 1] as string });
  }
  return { keep, fence, origins, peers, messages, state: value.slice(end + 1) };
}
