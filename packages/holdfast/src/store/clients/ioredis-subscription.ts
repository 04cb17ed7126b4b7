/** Subscribes to one channel on a separate connection: ioredis. */
import { unlessAborted } from '../../base/abort.js';
import { isErrorReply } from './errors.js';
import type { ShardListener, Subscription, SubscriptionListener } from './port.js';

export interface IoredisSettings {
  readonly keyPrefix?: unknown;
  readonly enableAutoPipelining?: unknown;
  readonly connectionName?: unknown;
  readonly retryStrategy?: unknown;
  readonly sentinelRetryStrategy?: unknown;
  readonly sentinels?: unknown;
  readonly enableReadyCheck?: unknown;
  readonly socketTimeout?: unknown;
}

/** For a server's reply to the handshake of a wake connection. */
const REPLY_MS = 5000;

interface Origin {
  readonly options: IoredisSettings;
  duplicate(override?: object): unknown;
}

interface Connection {
  readonly status: string;
  readonly stream?: { ref?(): unknown; unref?(): unknown };
  readonly socketTimeoutTimer?: NodeJS.Timeout;
  connect(): Promise<void>;
  disconnect(reconnect?: boolean): void;
  subscribe(channel: string): Promise<unknown>;
  ssubscribe(channel: string): Promise<unknown>;
  on(event: 'message' | 'smessage', listener: (channel: string, payload: string) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'ready' | 'close' | 'moved', listener: () => void): unknown;
  once(event: 'end', listener: () => void): unknown;
}

type Delay = (attempt: number) => number | null;

/**
 * Rejects with the first failure, and leaves no connection then.
 * @param open has the connection until it is closed
 */
export async function subscribe(
  client: Origin,
  channel: string,
  listener: SubscriptionListener,
  open: Set<object>,
): Promise<Subscription> {
  let state: 'opening' | 'live' | 'lost' | 'closed' = 'opening';
  let refusals = 0;
  // not before the first confirmation: the caller gets the failure
  const persistent = (strategy: unknown): Delay => {
    return (attempt) =>
      state === 'opening' || state === 'closed' ? null : delay(strategy, attempt + refusals);
  };
  const connection = duplicate(client, persistent, open);
  let failure: unknown;
  connection.on('error', (error) => {
    failure = error;
  });
  connection.on('message', (from, payload) => {
    if (state !== 'closed' && from === channel) listener.message(payload);
  });
  connection.on('close', () => {
    if (state !== 'live') return;
    state = 'lost';
    listener.down();
  });
  connection.on('ready', () => {
    if (state === 'lost') void resubscribe();
  });

  const live = (): void => {
    state = 'live';
    // timers of waiters keep the process alive
    connection.stream?.unref?.();
  };
  // the promise of a broken connection never settles: this one is current
  const resubscribe = async (): Promise<void> => {
    try {
      await connection.subscribe(channel);
    } catch (error) {
      if (state !== 'lost' || !isErrorReply(error)) return;
      refusals += 1;
      connection.disconnect(true);
      return;
    }
    if (state !== 'lost') return;
    live();
    refusals = 0;
    listener.up();
  };

  try {
    await unlessAborted({ signal: listener.ended }, () => opened(connection, channel), channel);
  } catch (error) {
    state = 'closed';
    await close(connection);
    // more than `Connection is closed.`
    throw isErrorReply(error) ? error : (failure ?? error);
  }
  live();
  return {
    close: () => {
      state = 'closed';
      connection.stream?.ref?.();
      return close(connection);
    },
  };
}

async function opened(connection: Connection, channel: string): Promise<void> {
  await connection.connect();
  await connection.subscribe(channel);
}

function duplicate(
  client: Origin,
  persistent: (strategy: unknown) => Delay,
  open: Set<object>,
): Connection {
  const { socketTimeout = REPLY_MS } = client.options;
  const connection = client.duplicate({
    ...overrides(client.options, persistent),
    // it counts while a reply is due: the handshake with a frozen server must end
    socketTimeout,
  }) as Connection;
  open.add(connection);
  connection.once('end', () => open.delete(connection));
  return connection;
}

/** On a new connection to a node, which does not reconnect; rejects as `subscribe`. */
export async function subscribeShard(
  node: Origin,
  channel: string,
  listener: ShardListener,
): Promise<Subscription> {
  let live = false;
  const connection = node.duplicate(overrides(node.options, () => () => null)) as Connection;
  let fail: (error: Error) => void = () => undefined;
  const over = (): void => {
    if (live) listener.over();
    live = false;
  };
  let failure: unknown;
  connection.on('error', (error) => {
    failure = error;
    // ioredis 5 does not expect that a moved slot ends a subscription
    if (String(error).includes('sunsubscribe')) over();
  });
  connection.on('smessage', (from, payload) => {
    if (live && from === channel) listener.message(payload);
  });
  connection.on('moved', () => {
    over();
    // ioredis 5 does not answer the subscription then
    fail(new Error('MOVED to a node that the client does not tell'));
  });
  connection.on('close', over);
  try {
    const open = async (): Promise<void> => {
      await connection.connect();
      await new Promise((resolve, reject) => {
        fail = reject;
        connection.ssubscribe(channel).then(resolve, reject);
      });
    };
    await unlessAborted({ signal: listener.ended }, open, channel);
  } catch (error) {
    await close(connection);
    throw isErrorReply(error) ? error : (failure ?? error);
  }
  live = true;
  return {
    close: () => {
      live = false;
      return close(connection);
    },
  };
}

export function overrides(
  options: IoredisSettings,
  persistent: (strategy: unknown) => Delay,
): object {
  const { connectionName, retryStrategy, sentinelRetryStrategy } = options;
  // The check costs a round trip, and a loading server accepts SUBSCRIBE. With Sentinel it also
  // confirms the master, whose subscribers get the grants.
  const readyCheck = options.sentinels ? options.enableReadyCheck : false;
  return {
    enableReadyCheck: readyCheck,
    connectionName: typeof connectionName === 'string' ? `${connectionName}:holdfast` : 'holdfast',
    retryStrategy: persistent(retryStrategy),
    sentinelRetryStrategy: persistent(sentinelRetryStrategy),
    // scripts publish without a prefix; versions differ for channels
    keyPrefix: '',
    lazyConnect: true,
    // ioredis drops its promise, and `ready` comes before the confirmation
    autoResubscribe: false,
    // on another connection a command would make two subscriptions
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: null,
    commandTimeout: undefined,
    // see `ioredis-sentinel.ts`
    failoverDetector: false,
    reconnectOnError: null,
    himportFieldsets: undefined,
    disconnectTimeout: 0,
  };
}

/** The user's strategy; a default delay if it stops. */
function delay(strategy: unknown, attempt: number): number {
  const wish: unknown = typeof strategy === 'function' ? strategy(attempt) : undefined;
  return typeof wish === 'number' ? wish : Math.min(50 * 2 ** attempt, 2000);
}

function close(connection: Connection): Promise<void> {
  return new Promise((resolve) => {
    // other states have no socket that could end
    if (connection.status === 'ready' || connection.status === 'connect') {
      connection.once('end', resolve);
    } else {
      resolve();
    }
    connection.disconnect();
    // version 5 keeps it
    clearTimeout(connection.socketTimeoutTimer);
  });
}
