/** Sends commands with valkey-glide: the form of replies and errors, and their order. */
import type { GlideLike } from './glide.js';

/** Where a command goes on a cluster. */
export type Route = { readonly type: 'primarySlotKey'; readonly key: string } | ByAddress;

interface ByAddress {
  readonly type: 'routeByAddress';
  readonly host: string;
  readonly port: number;
}

/** The node with an address. */
export function routeTo(address: string): ByAddress {
  const at = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, at), Number(address.slice(at + 1))];
  return { type: 'routeByAddress', host, port };
}

/** `Decoder.String`: the client may be set to bytes. */
export const AS_STRINGS = 1;

/** The client calls the codes of the server by its own names. */
const CODES: Readonly<Record<string, string>> = {
  Ask: 'ASK',
  BusyLoadingError: 'LOADING',
  ClusterDown: 'CLUSTERDOWN',
  CrossSlot: 'CROSSSLOT',
  ExecAbortError: 'EXECABORT',
  MasterDown: 'MASTERDOWN',
  Moved: 'MOVED',
  NoScriptError: 'NOSCRIPT',
  PermissionDenied: 'NOPERM',
  ReadOnly: 'READONLY',
  ResponseError: 'ERR',
  TryAgain: 'TRYAGAIN',
};

const OWN_NAME = /^An error was signalled by the server: - (\w+): (.*)$/s;
const CODE = /^([A-Z][A-Z0-9_]+): (.*)$/s;

/** An error reply of the server in its usual form. */
export class ReplyError extends Error {
  override readonly name: string = 'ReplyError';
}

/** The error reply in its usual form; any other error unchanged. */
export function replyError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { message } = error;
  const [, name = '', detail = ''] = OWN_NAME.exec(message) ?? [];
  if (name !== '') return new ReplyError(`${CODES[name] ?? 'ERR'} ${detail}`, { cause: error });
  const [, code, text] = CODE.exec(message) ?? [];
  return code === undefined ? error : new ReplyError(`${code} ${text}`, { cause: error });
}

/** Sends one command. */
export async function send(
  client: GlideLike,
  words: readonly string[],
  route?: Route,
): Promise<unknown> {
  try {
    const options = { decoder: AS_STRINGS, ...(route !== undefined && { route }) };
    return await client.customCommand([...words], options);
  } catch (error) {
    throw replyError(error);
  }
}

/** The client refuses more commands on their way than its limit. */
const LIMIT = 1000;

/** The options of a client; it keeps them. */
interface Configured {
  readonly config?: { readonly inflightRequestsLimit?: number };
}

/** Several instances of Holdfast may use one client. */
const outboxes = new WeakMap<GlideLike, Outbox>();

/** The outbox of a client. It leaves half of the limit to the commands of the program. */
export function outboxOf(client: GlideLike): Outbox {
  const known = outboxes.get(client);
  if (known !== undefined) return known;
  const limit = (client as Configured).config?.inflightRequestsLimit ?? LIMIT;
  const outbox = new Outbox(Math.max(1, Math.floor(limit / 2)));
  outboxes.set(client, outbox);
  return outbox;
}

/** A command that waits for earlier ones. */
interface Behind {
  /** The number of its keys with an earlier command. */
  blocked: number;
  readonly start: () => void;
}

/**
 * Sends the commands on each key one after the other, because the client may change the order of
 * commands that are on their way at the same time. A command with several keys waits for the
 * earlier ones of each.
 */
export class Outbox {
  /** The commands of each key in use behind the one that was started. */
  readonly #keys = new Map<string, Behind[]>();
  readonly #waiting: (() => void)[] = [];
  readonly #max: number;
  #running = 0;

  /** @param max the most commands on their way */
  constructor(max: number) {
    this.#max = max;
  }

  add<T>(keys: readonly string[], send: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = (): void =>
        this.#start(() => {
          send()
            .then(resolve, reject)
            .finally(() => this.#ended(keys))
            .catch(() => undefined);
        });
      const own: Behind = { blocked: 0, start };
      for (const key of keys) {
        const others = this.#keys.get(key);
        if (others === undefined) {
          this.#keys.set(key, []);
        } else {
          others.push(own);
          own.blocked += 1;
        }
      }
      if (own.blocked === 0) start();
    });
  }

  #start(run: () => void): void {
    if (this.#running >= this.#max) {
      this.#waiting.push(run);
      return;
    }
    this.#running += 1;
    run();
  }

  #ended(keys: readonly string[]): void {
    this.#running -= 1;
    for (const key of keys) {
      const next = this.#keys.get(key)?.shift();
      if (next === undefined) {
        this.#keys.delete(key);
      } else {
        next.blocked -= 1;
        if (next.blocked === 0) next.start();
      }
    }
    const waiting = this.#running < this.#max ? this.#waiting.shift() : undefined;
    if (waiting !== undefined) this.#start(waiting);
  }
}
