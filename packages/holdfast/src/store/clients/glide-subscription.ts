/**
 * Subscribes to one channel on a separate client of valkey-glide, which restores the subscription
 * itself.
 *
 * The client does not tell of a lost connection. It gives each push to a method, which returns null
 * for the end of a connection or a confirmation: messages may be lost.
 */
import type { GlideLike } from './glide.js';
import { AS_STRINGS } from './glide-commands.js';
import type { Subscription } from './port.js';

export const EXACT = 'exact';
export const SHARDED = 'sharded';

const CONFIRM_MS = 1000;
/** `ProtocolVersion.RESP3`, the only one for subscriptions. */
const RESP3 = 0;

export interface GlideEvents {
  message(payload: string): void;
  lost(): void;
  restored?(): void;
}

interface Message {
  readonly message: unknown;
}

interface Connection extends GlideLike {
  readonly isClosed?: boolean;
  readonly socket?: { ref?(): unknown; unref?(): unknown };
  notificationToPubSubMessageSafe?: (this: Connection, ...args: unknown[]) => Message | null;
  subscribe(channels: readonly string[], ms: number): Promise<void>;
  ssubscribe?(channels: readonly string[], ms: number): Promise<void>;
  unsubscribe(channels: null, ms: number): Promise<void>;
  sunsubscribe?(channels: null, ms: number): Promise<void>;
}

const yes = (): boolean => true;
const no = (): boolean => false;

/** A subscriber at a replica gets messages, and is not counted by its master. */
const AT_MASTERS = { readFrom: 'primary', clientAz: undefined };

/** Resolves when confirmed. Rejects with the connection's failure. */
export async function subscribe(
  client: GlideLike,
  channel: string,
  kind: typeof EXACT | typeof SHARDED,
  events: GlideEvents,
): Promise<Subscription> {
  const { config } = client as { config?: object };
  const { createClient } = client.constructor as { createClient?: unknown };
  if (config === undefined || typeof createClient !== 'function') {
    throw new Error('this version of the client does not show its settings');
  }
  let over = false;
  const callback = ({ message }: Message): void => {
    if (!over) events.message(String(message));
  };
  const options = {
    ...{ ...config, protocol: RESP3, lazyConnect: false, defaultDecoder: AS_STRINGS },
    ...AT_MASTERS,
    pubsubSubscriptions: { channelsAndPatterns: {}, callback },
  };
  const connection = (await createClient.call(client.constructor, options)) as Connection;
  // the first push confirms; the client may resolve before
  let confirmed = false;
  watch(connection, () => {
    if (confirmed && !over) {
      events.lost();
      if (events.restored !== undefined) void restore();
    }
    confirmed = true;
  });
  const open = (): Promise<void> =>
    kind === SHARDED
      ? (connection.ssubscribe?.([channel], CONFIRM_MS) as Promise<void>)
      : connection.subscribe([channel], CONFIRM_MS);
  let restoring = false;
  const restore = async (): Promise<void> => {
    if (restoring) return;
    restoring = true;
    while (!over && connection.isClosed !== true) {
      if (!(await open().then(yes, no))) continue;
      restoring = false;
      if (!over) events.restored?.();
      return;
    }
  };
  try {
    await open();
  } catch (error) {
    over = true;
    connection.close();
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`the server did not confirm the subscription: ${why}`, { cause: error });
  }
  // timers of waiters keep the process alive
  connection.socket?.unref?.();
  return {
    close: async () => {
      if (over) return;
      over = true;
      connection.socket?.ref?.();
      // the client closes its connections later: the server must not count this listener
      const ended =
        kind === SHARDED
          ? connection.sunsubscribe?.(null, CONFIRM_MS)
          : connection.unsubscribe(null, CONFIRM_MS);
      await ended?.catch(() => undefined);
      connection.close();
    },
  };
}

function watch(connection: Connection, notice: () => void): void {
  const original = connection.notificationToPubSubMessageSafe;
  if (original === undefined) return;
  connection.notificationToPubSubMessageSafe = (...args) => {
    const message = original.apply(connection, args);
    if (message === null) notice();
    return message;
  };
}
