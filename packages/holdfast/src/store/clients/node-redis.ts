import { attempt, OWN_CLIENT, prefixOf, scriptWords } from './common.js';
import { isErrorReply } from './errors.js';
import { type NodeRedisSettings, subscribe } from './node-redis-subscription.js';
import { notReady, placeOf } from './state.js';
import type { ClientPort, RawOutcome, ScriptCall } from './port.js';
import { scanPage } from './scan.js';

/**
 * A client of node-redis, the package `redis` or `@redis/client`, version 5 or 6:
 * `createClient(…)`. The members are those that Holdfast uses, and those by which it recognizes the
 * client.
 */
export interface NodeRedisLike {
  readonly options?: NodeRedisSettings | undefined;
  connect(): Promise<unknown>;
  withCommandOptions(...args: never): unknown;
  sendCommand(args: readonly string[], options?: object): Promise<unknown>;
  duplicate(overrides?: object): unknown;
}

/**
 * Instead of the client's options. Its time limit costs more than the command, and covers only
 * unwritten commands. A type mapping could change replies. With `asap` a batch would be written in
 * reverse order.
 */
export const COMMAND_OPTIONS: object = Object.freeze({
  timeout: undefined,
  abortSignal: undefined,
  typeMapping: undefined,
  asap: undefined,
});

/**
 * `sendCommand` does not know the keys, so the adapter adds a `keyPrefix` (of node-redis 6).
 * node-redis writes all commands of a turn together.
 */
export function nodeRedisPort(client: NodeRedisLike): ClientPort {
  const keyPrefix = prefixOf(client.options?.keyPrefix);

  const send = (
    words: string[],
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> =>
    attempt(() => client.sendCommand(scriptWords(words, keyPrefix, keys, args), COMMAND_OPTIONS));

  const port: ClientPort = {
    name: 'node-redis',
    client,
    keyPrefix,
    writesLater: true,

    evalsha(calls: readonly ScriptCall[]): Promise<unknown>[] {
      return calls.map(({ sha, keys, args }) => send(['EVALSHA', sha], keys, args));
    },

    post({ sha, keys, args }: ScriptCall, last: string, to: RawOutcome): boolean {
      send(['EVALSHA', sha], keys, args.concat(last)).then(
        (raw) => to.answered(raw, true),
        (error: unknown) => to.failed(error, true),
      );
      return true;
    },

    eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
      return send(['EVAL', source], keys, args);
    },

    scan: (...page) => scanPage((words) => client.sendCommand(words, COMMAND_OPTIONS), ...page),

    subscribe: (channel, listener) => subscribe(client, channel, listener),
    endSilence: async (pause) => (await import('./silence.js')).endSilence(port, pause),

    // the client rejects, and never repeats, pending commands at the end of a connection
    connection: () => client,

    isReply: isErrorReply,

    // the client does not show it
    blockedBy: () => undefined,
    delay() {
      const state = `the client is connected (${placeOf(client.options?.socket)})`;
      return `${state}; a blocking command (BLPOP) would be one reason: ${OWN_CLIENT}`;
    },

    state() {
      const { isOpen, isReady } = client as { isOpen?: boolean; isReady?: boolean };
      if (isOpen === undefined || isReady === true) return undefined;
      const closed = !isOpen;
      const state = closed ? 'not connected: call "await client.connect()" first' : 'connecting';
      return { closed, text: notReady(client, state, client.options?.socket) };
    },
  };
  return port;
}
