/** The port on node-redis: the package `redis` or `@redis/client`, 5 and 6. */
import { attempt, prefixOf } from './common.js';
import { isErrorReply } from './errors.js';
import { type NodeRedisSettings, subscribe } from './node-redis-subscription.js';
import type { ClientPort, ScanPage, ScriptCall } from './port.js';

/** What is used of a client that `createClient` gave. */
export interface NodeRedisLike {
  readonly options?: NodeRedisSettings | undefined;
  sendCommand(args: readonly string[], options?: object): Promise<unknown>;
  duplicate(overrides?: object): unknown;
}

/**
 * The options of each command; they win over those that the client has for all commands.
 *
 * Its time limit costs more than the command itself, and covers only what is not yet written. A
 * type mapping could turn numbers into strings and strings into bytes. With `asap` a batch would be
 * written in reverse.
 */
const OPTIONS: object = Object.freeze({
  timeout: undefined,
  abortSignal: undefined,
  typeMapping: undefined,
  asap: undefined,
});

/**
 * The port on one client of node-redis, which stays the caller's.
 *
 * Commands go through `sendCommand`, which knows no keys: a `keyPrefix` (of node-redis 6) is put
 * before them here. What is sent in one turn of the event loop, node-redis writes at once.
 */
export function nodeRedisPort(client: NodeRedisLike): ClientPort {
  const keyPrefix = prefixOf(client.options?.keyPrefix);

  const send = (
    words: string[],
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> =>
    attempt(() => {
      const names = keyPrefix === '' ? keys : keys.map((key) => keyPrefix + key);
      return client.sendCommand([...words, `${keys.length}`, ...names, ...args], OPTIONS);
    });

  return {
    name: 'node-redis',
    keyPrefix,
    writesLater: true,

    evalsha(calls: readonly ScriptCall[]): Promise<unknown>[] {
      return calls.map(({ sha, keys, args }) => send(['EVALSHA', sha], keys, args));
    },

    eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
      return send(['EVAL', source], keys, args);
    },

    async scan(cursor: string, match: string, count: number): Promise<ScanPage> {
      const words = ['SCAN', cursor, 'MATCH', match, 'COUNT', `${count}`];
      const [next, keys] = (await client.sendCommand(words, OPTIONS)) as [string, string[]];
      return { cursor: next, keys };
    },

    subscribe: (channel, listener) => subscribe(client, channel, listener),

    // what was under way when a connection ended is rejected, never sent again
    connection: () => undefined,

    isReply: isErrorReply,
  };
}
