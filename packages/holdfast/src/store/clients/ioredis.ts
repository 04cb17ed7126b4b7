import { attempt, OWN_CLIENT, prefixOf } from './common.js';
import { isErrorReply } from './errors.js';
import { ioredisState } from './ioredis-state.js';
import { placeOf } from './state.js';
import { type IoredisSettings, subscribe } from './ioredis-subscription.js';
import { connectionOf, posting } from './ioredis-command.js';
import type { Leaver } from './ioredis-sentinel.js';
import type { ClientPort, ScriptCall } from './port.js';
import { scanPage } from './scan.js';

/**
 * A client of ioredis 5 or 6, or of a library derived from it: `new Redis(…)`. The members are
 * those that Holdfast uses, and those by which it recognizes the client.
 */
export interface IoredisLike {
  readonly options: IoredisSettings;
  /** A cluster has no mode. */
  readonly mode: string;
  pipeline(...args: never): unknown;
  defineCommand(...args: never): unknown;
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

interface Corkable {
  cork(): void;
  uncork(): void;
}

/**
 * Only the named methods apply `keyPrefix` in all versions (ioredis 5.0 and iovalkey know the keys
 * of `evalsha`, not those of `EVALSHA`).
 */
export function ioredisPort(client: IoredisLike): ClientPort {
  const subscribed = new Set<object>();
  const { sentinels, name } = client.options as IoredisSettings & { readonly name?: unknown };
  const path = `master "${String(name)}"`;
  const address = sentinels ? { ...client.options, path } : client.options;
  const port: ClientPort = {
    name: 'ioredis',
    client,
    keyPrefix: prefixOf(client.options.keyPrefix),
    writesLater: client.options.enableAutoPipelining === true,

    evalsha(calls: readonly ScriptCall[]): Promise<unknown>[] {
      return inOneWrite(client, calls, ({ sha, keys, args }) =>
        attempt(() => client.evalsha(sha, keys.length, ...keys, ...args)),
      );
    },

    post: posting(client),

    eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
      return attempt(() => client.eval(source, keys.length, ...keys, ...args));
    },

    scan: (...page) => scanPage(byMethod(client), ...page),

    subscribe: (channel, listener) => subscribe(client, channel, listener, subscribed),
    ...(sentinels ? { leaveFormerMaster: () => leave(client, subscribed) } : {}),
    endSilence: async (pause) => (await import('./silence.js')).endSilence(port, pause),

    // the next connection repeats pending commands
    connection: () => connectionOf(client),

    isReply: isErrorReply,
    blockedBy: () => blockingCommand(client),

    delay() {
      const command = blockingCommand(client);
      if (command === undefined) return `the client is connected (${placeOf(address)})`;
      return `the client waits for the reply to ${command}, ${OWN_CLIENT}`;
    },

    state: () => ioredisState(client, address),
  };
  return port;
}

export function byMethod(client: object): (words: string[]) => Promise<unknown> {
  const methods = client as Record<string, (...words: string[]) => Promise<unknown>>;
  return async ([name = '', ...words]) => methods[name.toLowerCase()]?.(...words);
}

async function leave(client: IoredisLike, subscribed: Iterable<object>): Promise<void> {
  try {
    const { leaveFormerMaster } = await import('./ioredis-sentinel.js');
    await leaveFormerMaster(client as unknown as Leaver, subscribed as Iterable<Leaver>);
  } catch {
    // the next unanswered command tries again
  }
}

/** A command that waits in the server; some do so only with BLOCK. */
const BLOCKING = /^(b[lrz]|wait)/i;
const MAY_BLOCK = /^xread/i;

function blockingCommand(client: object): string | undefined {
  const { commandQueue } = client as { commandQueue?: { peekFront?(): Sent | undefined } };
  const { name = '', args = [] } = commandQueue?.peekFront?.()?.command ?? {};
  const blocks = BLOCKING.test(name) || (MAY_BLOCK.test(name) && args.some(isBlock));
  return blocks ? name.toUpperCase() : undefined;
}

interface Sent {
  readonly command?: { readonly name?: string; readonly args?: readonly unknown[] };
}

const isBlock = (arg: unknown): boolean => String(arg).toUpperCase() === 'BLOCK';

/**
 * Several calls in one write, each with a promise. A pipeline costs about twice as much, and its
 * calls settle together. Without a socket the client writes them later.
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
