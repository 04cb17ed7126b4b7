/** One channel on a connection of its own: node-redis. */
import type { Subscription, SubscriptionListener } from './port.js';

/** What is read of the client's options. */
export interface NodeRedisSettings {
  readonly keyPrefix?: unknown;
  readonly name?: unknown;
  readonly socket?: object | undefined;
  readonly pingInterval?: unknown;
}

interface SocketSettings {
  readonly reconnectStrategy?: unknown;
  readonly socketTimeout?: unknown;
}

interface Origin {
  readonly options?: NodeRedisSettings | undefined;
  duplicate(overrides?: object): unknown;
}

interface Connection {
  connect(): Promise<unknown>;
  destroy(): void;
  subscribe(channel: string, listener: (payload: string) => void): Promise<unknown>;
  on(event: 'error' | 'connect' | 'ready' | 'reconnecting', listener: () => void): unknown;
}

type Delay = (attempt: number, cause: unknown) => number | false;

/**
 * Opens the connection and subscribes. Rejects with the first failure, and leaves nothing then.
 *
 * node-redis subscribes again by itself when it connects again; `ready` means that it is confirmed.
 */
export async function subscribe(
  client: Origin,
  channel: string,
  listener: SubscriptionListener,
): Promise<Subscription> {
  let state: 'opening' | 'live' | 'lost' | 'closed' = 'opening';
  let connecting = false;
  const persistent = (strategy: unknown): Delay => {
    return (attempt, cause) =>
      state === 'opening' || state === 'closed' ? false : delay(strategy, attempt, cause);
  };
  const connection = client.duplicate(overrides(client.options ?? {}, persistent)) as Connection;
  // each failed attempt emits an error; without a listener it would end the process
  connection.on('error', () => {
    connecting = false;
  });
  connection.on('reconnecting', () => {
    connecting = true;
    if (state !== 'live') return;
    state = 'lost';
    listener.down();
  });
  connection.on('connect', () => {
    connecting = false;
    if (state === 'closed') destroy(connection);
  });
  connection.on('ready', () => {
    if (state !== 'lost') return;
    state = 'live';
    listener.up();
  });

  try {
    // the client writes the subscription with its handshake: one round trip for both
    const connected = connection.connect();
    const subscribed = connection.subscribe(channel, (payload) => {
      if (state !== 'closed') listener.message(payload);
    });
    await Promise.all([connected, subscribed]);
  } catch (error) {
    state = 'closed';
    destroy(connection);
    throw error;
  }
  state = 'live';
  return {
    async close() {
      state = 'closed';
      // a client that is destroyed while its socket connects forgets the socket, which stays open:
      // then `connect` destroys it, or it fails, after which there is no further attempt
      if (!connecting) destroy(connection);
    },
  };
}

function overrides(options: NodeRedisSettings, persistent: (strategy: unknown) => Delay): object {
  const socket = (options.socket ?? {}) as SocketSettings;
  return {
    socket: { ...socket, reconnectStrategy: persistent(socket.reconnectStrategy) },
    // under RESP2 a name takes the right to CLIENT, which a user without a name may lack
    name: typeof options.name === 'string' ? `${options.name}:holdfast` : undefined,
    pingInterval: pingInterval(options.pingInterval, socket.socketTimeout),
    commandOptions: { timeout: undefined },
    // a command belongs to the connection that it was meant for
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    clientSideCache: undefined,
    emitInvalidate: undefined,
  };
}

/** `socketTimeout` ends a connection on which nothing is heard: a quiet channel needs pings. */
function pingInterval(interval: unknown, socketTimeout: unknown): unknown {
  if (typeof socketTimeout !== 'number' || socketTimeout <= 0) return interval;
  const often = Math.ceil(socketTimeout / 2);
  return typeof interval === 'number' && interval > 0 ? Math.min(interval, often) : often;
}

/** The wait that the strategy wants; if there is none, or it gives up, a wait all the same. */
function delay(strategy: unknown, attempt: number, cause: unknown): number {
  const wish: unknown = typeof strategy === 'function' ? strategy(attempt, cause) : strategy;
  // random, as that of node-redis: after a server's restart not everybody should come at once
  const own = (): number => Math.min(50 * 2 ** attempt, 2000) + Math.floor(Math.random() * 200);
  return typeof wish === 'number' ? wish : own();
}

function destroy(connection: Connection): void {
  try {
    connection.destroy();
  } catch {
    // node-redis 5 throws if it is closed already
  }
}
