/** The port on ioredis 5 and 6, and on what is built like it (iovalkey). */
import { attempt, prefixOf } from './common.js';
import { isErrorReply } from './errors.js';
import { type IoredisSettings, subscribe } from './ioredis-subscription.js';
import type { ClientPort, ScanPage, ScriptCall } from './port.js';

/** What is used of an ioredis client. Its classes have it. */
export interface IoredisLike {
  readonly options: IoredisSettings;
  evalsha(sha: string, numkeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(source: string, numkeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  scan(
    cursor: string,
    matchToken: 'MATCH',
    pattern: string,
    countToken: 'COUNT',
    count: number,
  ): Promise<[cursor: string, keys: string[]]>;
  duplicate(override?: object): unknown;
}

/** What a socket can do to collect several writes into one. */
interface Corkable {
  cork(): void;
  uncork(): void;
}

/**
 * The port on one ioredis client, which stays the caller's.
 *
 * Commands go through the methods by name and not through `call`: only those apply `keyPrefix` in
 * all versions (ioredis 5.0 and iovalkey know that `evalsha` has keys, but not that `EVALSHA` has).
 */
export function ioredisPort(client: IoredisLike): ClientPort {
  return {
    name: 'ioredis',
    keyPrefix: prefixOf(client.options.keyPrefix),
    writesLater: client.options.enableAutoPipelining === true,

    evalsha(calls: readonly ScriptCall[]): Promise<unknown>[] {
      return inOneWrite(client, calls, ({ sha, keys, args }) =>
        attempt(() => client.evalsha(sha, keys.length, ...keys, ...args)),
      );
    },

    eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
      return attempt(() => client.eval(source, keys.length, ...keys, ...args));
    },

    scan(cursor: string, match: string, count: number): Promise<ScanPage> {
      const page = attempt(() => client.scan(cursor, 'MATCH', match, 'COUNT', count));
      return page.then(([next, keys]) => ({ cursor: next, keys }));
    },

    subscribe: (channel, listener) => subscribe(client, channel, listener),

    // what was not answered when a connection ended is sent again over the next one
    connection: () => (client as { stream?: unknown }).stream,

    isReply: isErrorReply,
  };
}

/**
 * Several calls in one write, each with a promise of its own.
 *
 * A pipeline would do that too, but costs about twice as much, and its calls settle together.
 * Without a socket, calls wait in the client; that writes them as it likes.
 */
function inOneWrite<T>(
  client: object,
  calls: readonly ScriptCall[],
  send: (call: ScriptCall) => Promise<T>,
): Promise<T>[] {
  const socket = calls.length > 1 ? (client as { stream?: Partial<Corkable> }).stream : undefined;
  socket?.cork?.();
  try {
    return calls.map(send);
  } finally {
    socket?.uncork?.();
  }
}
