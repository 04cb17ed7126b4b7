/** What the servers publish with a change, and which process gets the next ballot. */
import type { PeerChange } from '../register/peers.js';
import type { Message } from '../register/register.js';
import type { Peer, QuorumRecord } from './record.js';

export interface Delivery {
  readonly messages: readonly Message[];
  readonly heir?: Peer | undefined;
  readonly grows?: boolean;
  readonly rests?: boolean | undefined;
}

export function deliveryOf(
  { messages: all, peers }: QuorumRecord,
  { answers = [], successor, rests }: PeerChange,
  own: ReadonlySet<string>,
): Delivery {
  const isOther = own.size > 0 && !own.has(successor?.channel ?? '');
  const heir = isOther ? heirOf(peers, successor) : undefined;
  // the heir finds its messages in the value
  const messages = all.filter(({ channel }) => channel !== heir?.[0] && !own.has(channel));
  return { messages: [...messages, ...answers], heir, rests };
}

/** A process whose secret is known: it changed the key, or its request named a token. */
function heirOf(peers: readonly Peer[], successor: PeerChange['successor']): Peer | undefined {
  const { channel = '', token = '' } = successor ?? {};
  const known = peers.find(([one]) => one === channel);
  return known ?? (token === '' ? undefined : [channel, token]);
}
