/** One channel on a connection of its own: ioredis. */
import { isErrorReply } from './errors.js';
import type { Subscription, SubscriptionListener } from './port.js';

/** What is read of the client's options. */
export interface IoredisSettings {
  readonly keyPrefix?: unknown;
  readonly enableAutoPipelining?: unknown;
  readonly connectionName?: unknown;
  readonly retryStrategy?: unknown;
  readonly sentinelRetryStrategy?: unknown;
  readonly sentinels?: unknown;
  readonly enableReadyCheck?: unknown;
}

interface Origin {
  readonly options: IoredisSettings;
  duplicate(override?: object): unknown;
}

interface Connection {
  readonly status: string;
  connect(): Promise<void>;
  disconnect(reconnect?: boolean): void;
  subscribe(channel: string): Promise<unknown>;
  on(event: 'message', listener: (channel: string, payload: string) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'ready' | 'close', listener: () => void): unknown;
  once(event: 'end', listener: () => void): unknown;
}

type Delay = (attempt: number) => number | null;

/** Opens the connection and subscribes. Rejects with the first failure, and leaves nothing then. */
export async function subscribe(
  client: Origin,
  channel: string,
  listener: SubscriptionListener,
): Promise<Subscription> {
  let state: 'opening' | 'live' | 'lost' | 'closed' = 'opening';
  let refusals = 0;
  // no second attempt before the first confirmation: who waits for that hears of the failure
  const persistent = (strategy: unknown): Delay => {
    return (attempt) =>
      state === 'opening' || state === 'closed' ? null : delay(strategy, attempt + refusals);
  };
  const connection = client.duplicate(overrides(client.options, persistent)) as Connection;
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

  // the promise of a connection that broke never settles, so what follows is about the present one
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
    state = 'live';
    refusals = 0;
    listener.up();
  };

  try {
    await connection.connect();
    await connection.subscribe(channel);
  } catch (error) {
    state = 'closed';
    connection.disconnect();
    // `Connection is closed.` says less than what the socket or the server said
    throw isErrorReply(error) ? error : (failure ?? error);
  }
  state = 'live';
  return {
    close: () => {
      state = 'closed';
      return close(connection);
    },
  };
}

function overrides(options: IoredisSettings, persistent: (strategy: unknown) => Delay): object {
  const { connectionName, retryStrategy, sentinelRetryStrategy } = options;
  // It costs a round trip, and a server that is loading takes SUBSCRIBE. With Sentinel it also
  // checks that the server is the master, to whose subscribers alone grants are pushed.
  const readyCheck = options.sentinels ? options.enableReadyCheck : false;
  return {
    enableReadyCheck: readyCheck,
    connectionName: typeof connectionName === 'string' ? `${connectionName}:holdfast` : 'holdfast',
    retryStrategy: persistent(retryStrategy),
    sentinelRetryStrategy: persistent(sentinelRetryStrategy),
    // scripts publish without it, whatever a version does with names of channels
    keyPrefix: '',
    lazyConnect: true,
    // its promise is dropped, and ioredis has no event for it: `ready` comes before
    autoResubscribe: false,
    // a command belongs to the connection that it was meant for, or a break would lead to two
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: null,
    commandTimeout: undefined,
    reconnectOnError: null,
    himportFieldsets: undefined,
    // nothing is left to be written when we disconnect
    disconnectTimeout: 0,
  };
}

/** The wait that the user's strategy wants; if it would give up, a wait all the same. */
function delay(strategy: unknown, attempt: number): number {
  const wish: unknown = typeof strategy === 'function' ? strategy(attempt) : undefined;
  return typeof wish === 'number' ? wish : Math.min(50 * 2 ** attempt, 2000);
}

function close(connection: Connection): Promise<void> {
  return new Promise((resolve) => {
    // in any other state there is no socket whose end could be waited for
    if (connection.status === 'ready' || connection.status === 'connect') {
      connection.once('end', resolve);
    } else {
      resolve();
    }
    connection.disconnect();
  });
}
