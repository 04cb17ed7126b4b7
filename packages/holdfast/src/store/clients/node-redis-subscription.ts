/** Subscribes to one channel on a separate connection: node-redis. */
import { unlessAborted } from '../../base/abort.js';
import { systemClock, type Timer } from '../../base/clock.js';
import type { ShardListener, Subscription, SubscriptionListener } from './port.js';

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
  unref?(): void;
  subscribe(channel: string, listener: (payload: string) => void): Promise<unknown>;
  sSubscribe(channel: string, listener: (payload: string) => void): Promise<unknown>;
  on(
    event: 'error' | 'connect' | 'ready' | 'reconnecting' | 'end' | 'sharded-channel-moved',
    listener: () => void,
  ): unknown;
}

/** For a server's reply to the handshake, in ms. */
const REPLY_MS = 5000;

type Delay = (attempt: number, cause: unknown) => number | false;

/**
 * Rejects with the first failure, and leaves no connection then. node-redis subscribes again when
 * it reconnects; `ready` confirms it.
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
  // without a listener, a failed attempt's error would end the process
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
    const open = (): Promise<void> =>
      both(
        opened(connection),
        connection.subscribe(channel, (payload) => {
          if (state !== 'closed') listener.message(payload);
        }),
      );
    await unlessAborted({ signal: listener.ended }, open, channel);
  } catch (error) {
    state = 'closed';
    destroy(connection);
    throw error;
  }
  state = 'live';
  // timers of waiters keep the process alive
  connection.unref?.();
  return {
    async close() {
      state = 'closed';
      // A client that is destroyed while it connects forgets the open socket. Its `connect` event
      // destroys it, or this attempt is the last one.
      if (!connecting) destroy(connection);
    },
  };
}

/** On a new connection to a node, which does not reconnect; rejects as `subscribe`. */
export function subscribeShard(
  node: Origin,
  channel: string,
  listener: ShardListener,
): Promise<Subscription> {
  return subscribeOnce(node, channel, listener, 'sSubscribe');
}

export async function subscribeOnce(
  node: Origin,
  channel: string,
  listener: ShardListener,
  how: 'subscribe' | 'sSubscribe' = 'subscribe',
): Promise<Subscription> {
  let live = false;
  const settings = overrides(node.options ?? {}, () => () => false);
  const connection = node.duplicate(settings) as Connection;
  const over = (): void => {
    if (live) listener.over();
    live = false;
  };
  // without reconnection, each error of a connected socket ends the connection
  for (const event of ['error', 'end', 'sharded-channel-moved'] as const) {
    connection.on(event, over);
  }
  connection.on('connect', () => {
    if (listener.ended?.aborted === true) destroy(connection);
  });
  try {
    const open = (): Promise<void> =>
      both(
        opened(connection),
        connection[how](channel, (payload) => {
          if (live) listener.message(payload);
        }),
      );
    await unlessAborted({ signal: listener.ended }, open, channel);
  } catch (error) {
    destroy(connection);
    throw error;
  }
  live = true;
  return {
    async close() {
      live = false;
      destroy(connection);
    },
  };
}

/** Rejects also if a connected server does not answer. */
function opened(connection: Connection): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let timer: Timer | undefined;
    connection.on('connect', () => {
      const late = new Error(`no reply of the server within ${REPLY_MS} ms`);
      timer ??= systemClock.after(REPLY_MS, () => reject(late));
    });
    const end = (): void => timer?.cancel();
    connection.connect().finally(end).then(resolve, reject);
  });
}

/** Of two failures, rejects with the connection's. */
async function both(connected: Promise<unknown>, subscribed: Promise<unknown>): Promise<void> {
  const subscribing = subscribed.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  await connected;
  const failure = await subscribing;
  if (failure !== undefined) throw failure.error;
}

export function overrides(
  options: NodeRedisSettings,
  persistent: (strategy: unknown) => Delay,
): object {
  const socket = (options.socket ?? {}) as SocketSettings;
  return {
    socket: { ...socket, reconnectStrategy: persistent(socket.reconnectStrategy) },
    // under RESP2 a name needs the right to call CLIENT
    name: typeof options.name === 'string' ? `${options.name}:holdfast` : undefined,
    pingInterval: pingInterval(options.pingInterval, socket.socketTimeout),
    commandOptions: { timeout: undefined },
    // a command must not move to another connection
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    clientSideCache: undefined,
    emitInvalidate: undefined,
  };
}

/** `socketTimeout` ends a quiet connection, so a channel needs pings. */
function pingInterval(interval: unknown, socketTimeout: unknown): unknown {
  if (typeof socketTimeout !== 'number' || socketTimeout <= 0) return interval;
  const often = Math.ceil(socketTimeout / 2);
  return typeof interval === 'number' && interval > 0 ? Math.min(interval, often) : often;
}

/** The user's strategy; a default delay without one, or if it stops. */
function delay(strategy: unknown, attempt: number, cause: unknown): number {
  const wish: unknown = typeof strategy === 'function' ? strategy(attempt, cause) : strategy;
  // random, as in node-redis: clients should not reconnect all at once
  const own = (): number => Math.min(50 * 2 ** attempt, 2000) + Math.floor(Math.random() * 200);
  return typeof wish === 'number' ? wish : own();
}

function destroy(connection: Connection): void {
  try {
    connection.destroy();
  } catch {
    // node-redis 5 throws if the client is closed
  }
}
