/**
 * Matches replies to commands. Replies arrive in the order of the commands, except for unsolicited
 * frames: pushes of RESP3 and, on a subscribed RESP2 connection, messages. SUBSCRIBE and related
 * commands get one confirmation for each channel; in RESP3 these are pushes. Not supported: CLIENT
 * REPLY OFF, and the stream after MONITOR or PSYNC.
 */
import { decode, RespError, type Value } from './resp.js';

/**
 * A command that was sent and is not completely answered. The owner of the pairing records the fate
 * of its reply.
 */
export interface Sent<Fate> {
  command: string[];
  fate: Fate | undefined;
  /** Outstanding confirmations of a subscription command; undefined before the first one. */
  remaining: number | undefined;
}

/** The classification of one frame from the server. */
export type Received<Fate> =
  | { kind: 'reply'; sent: Sent<Fate> }
  | { kind: 'push'; message: string[] };

const SUBSCRIPTION = /^([ps]?)(un)?subscribe$/i;
const MESSAGE = /^[ps]?message$/;
const ARRAY = '*'.charCodeAt(0);
const PUSH = '>'.charCodeAt(0);

/** The commands of one connection that wait for replies. */
export class Pairing<Fate> {
  readonly #queue: Sent<Fate>[] = [];
  /** The subscribed channels: UNSUBSCRIBE without a name gets one confirmation for each. */
  readonly #channels = new Map([
    ['', new Set<string>()],
    ['p', new Set<string>()],
    ['s', new Set<string>()],
  ]);
  /**
   * True from the first confirmation on. Before it, a RESP2 reply that looks like a message is not
   * a message.
   */
  #subscribed = false;

  /** Records a command that is sent to the server, and the fate of its reply if already known. */
  sent(command: string[], fate?: Fate): void {
    if (command.length > 0) this.#queue.push({ command, fate, remaining: undefined });
  }

  /** Classifies a frame from the server. */
  received(frame: Buffer): Received<Fate> {
    const [head] = this.#queue;
    const subscription = head !== undefined && SUBSCRIPTION.test(head.command[0] ?? '');
    const push = frame[0] === PUSH;
    if (push || (frame[0] === ARRAY && (subscription || this.#subscribed))) {
      const message = texts(frame);
      if (subscription && this.#confirms(head, message)) return { kind: 'reply', sent: head };
      if (push || MESSAGE.test(message[0] ?? '')) return { kind: 'push', message };
    }
    if (head === undefined) return { kind: 'push', message: texts(frame) };
    this.#queue.shift();
    return { kind: 'reply', sent: head };
  }

  #confirms(head: Sent<Fate>, [kind = '', channel = '']: string[]): boolean {
    if (kind !== head.command[0]?.toLowerCase()) return false;
    const [, family = '', ends] = SUBSCRIPTION.exec(kind) ?? [];
    const channels = this.#channels.get(family) as Set<string>;
    head.remaining ??= head.command.length - 1 || Math.max(channels.size, 1);
    head.remaining -= 1;
    if (ends) channels.delete(channel);
    else channels.add(channel);
    this.#subscribed = true;
    if (head.remaining === 0) this.#queue.shift();
    return true;
  }
}

function texts(frame: Buffer): string[] {
  const value = decode(frame);
  const list = Array.isArray(value) ? value : [value];
  return list.map(text);
}

function text(value: Value): string {
  if (value instanceof RespError) return value.message;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
