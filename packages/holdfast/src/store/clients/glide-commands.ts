/** Commands of valkey-glide: their order, and the form of replies and errors. */
import type { GlideLike } from './glide.js';

export type Route = { readonly type: 'primarySlotKey'; readonly key: string } | ByAddress;

interface ByAddress {
  readonly type: 'routeByAddress';
  readonly host: string;
  readonly port: number;
}

export function routeTo(address: string): ByAddress {
  const at = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, at), Number(address.slice(at + 1))];
  return { type: 'routeByAddress', host, port };
}

/** `Decoder.String`: the client may be set to bytes. */
export const AS_STRINGS = 1;

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

export class ReplyError extends Error {
  override readonly name: string = 'ReplyError';
}

export function replyError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { message } = error;
  const [, name = '', detail = ''] = OWN_NAME.exec(message) ?? [];
  if (name !== '') return new ReplyError(`${CODES[name] ?? 'ERR'} ${detail}`, { cause: error });
  const [, code, text] = CODE.exec(message) ?? [];
  return code === undefined ? error : new ReplyError(`${code} ${text}`, { cause: error });
}

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

/** The client refuses more commands on their way. */
const LIMIT = 1000;

interface Configured {
  readonly config?: { readonly inflightRequestsLimit?: number };
}

/** Instances may share a client. */
const outboxes = new WeakMap<GlideLike, Outbox>();

/** Leaves half of the limit to the program. */
export function outboxOf(client: GlideLike): Outbox {
  const known = outboxes.get(client);
  if (known !== undefined) return known;
  const limit = (client as Configured).config?.inflightRequestsLimit ?? LIMIT;
  const outbox = new Outbox(Math.max(1, Math.floor(limit / 2)));
  outboxes.set(client, outbox);
  return outbox;
}

interface Behind {
  blocked: number;
  readonly start: () => void;
}

/**
 * Sends the commands on each key one after the other, because the client may reorder those on their
 * way. One with several keys waits for the earlier ones of each.
 */
export class Outbox {
  readonly #keys = new Map<string, Behind[]>();
  readonly #waiting: (() => void)[] = [];
  readonly #max: number;
  #running = 0;

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
