/**
 * Which command a reply answers. Replies come in the order of the commands, except for what a
 * server says unasked: RESP3's pushes and, on a subscribed RESP2 connection, messages. SUBSCRIBE
 * and its kin are answered once a channel, under RESP3 by pushes. Not known here: CLIENT REPLY OFF,
 * and the stream after MONITOR or PSYNC.
 */
import { decode, RespError, type Value } from './resp.js';

/**
 * A command that was sent and not yet wholly answered. What became of its reply is for the owner to
 * note.
 */
export interface Sent<Fate> {
  command: string[];
  fate: Fate | undefined;
  /** Confirmations still to come; undefined until the first one of a subscription command. */
  left: number | undefined;
}

/** What one frame from the server is. */
export type Received<Fate> =
  | { kind: 'reply'; sent: Sent<Fate> }
  | { kind: 'push'; message: string[] };

const SUBSCRIPTION = /^([ps]?)(un)?subscribe$/i;
const MESSAGE = /^[ps]?message$/;
const ARRAY = '*'.charCodeAt(0);
const PUSH = '>'.charCodeAt(0);

/** The commands of one connection that wait for their replies. */
export class Pairing<Fate> {
  readonly #queue: Sent<Fate>[] = [];
  /** What is subscribed to: UNSUBSCRIBE without a name is confirmed once for each. */
  readonly #channels = new Map([
    ['', new Set<string>()],
    ['p', new Set<string>()],
    ['s', new Set<string>()],
  ]);
  /**
   * From the first confirmation on: before it, a reply of RESP2 may look like a message and be
   * none.
   */
  #subscribed = false;

  /** Notes a command that goes to the server, and what becomes of its reply if that is known. */
  sent(command: string[], fate?: Fate): void {
    if (command.length > 0) this.#queue.push({ command, fate, left: undefined });
  }

  /** Says what a frame from the server is. */
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
    head.left ??= head.command.length - 1 || Math.max(channels.size, 1);
    head.left -= 1;
    if (ends) channels.delete(channel);
    else channels.add(channel);
    this.#subscribed = true;
    if (head.left === 0) this.#queue.shift();
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
