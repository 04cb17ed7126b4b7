/**
 * What Holdfast asks of a Redis client: seven operations, structural types, no import of a client.
 *
 * An adapter translates and nothing more. It sets no deadline (the store has its own), retries
 * nothing, and never closes the user's client: it closes only the connections that it opened
 * itself.
 */
export interface ClientPort {
  /** Which client this is, for messages: `ioredis` or `node-redis`. */
  readonly name: string;

  /**
   * What the client itself puts before each key that it sends (`keyPrefix` of ioredis), or an empty
   * string.
   */
  readonly keyPrefix: string;

  /**
   * True if the client writes at the end of a turn of its event loop, not when it is called.
   */
  readonly writesLater: boolean;

  /**
   * Sends one EVALSHA for each call, in order, over one connection, in one write where the client
   * can do that. Answers one promise for each call; each settles by itself. It never throws
   * synchronously.
   */
  evalsha(calls: readonly ScriptCall[]): Promise<unknown>[];

  /** Sends EVAL with the whole text: what is left to do after NOSCRIPT. */
  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;

  /**
   * One page of SCAN. `match` is sent as it stands, and the names come back whole (with any
   * client's prefix on them).
   */
  scan(cursor: string, match: string, count: number): Promise<ScanPage>;

  /**
   * Subscribes to a channel, on a connection of its own that is opened now with the settings of the
   * user's client (address, TLS, user name, password). Resolves when the subscription is confirmed
   * for the first time; after that the connection restores itself, and `listener` hears of it.
   */
  subscribe(channel: string, listener: SubscriptionListener): Promise<Subscription>;

  /**
   * The connection that commands go out over at the moment, to be compared with another moment's:
   * if it is another one, the client may have sent again by itself what was under way. Always the
   * same where a client never does.
   */
  connection(): unknown;

  /**
   * True if the server answered with an error (so the request came through), false if the way to it
   * failed.
   */
  isReply(error: unknown): boolean;
}

/** One call of a script that the server should know already. */
export interface ScriptCall {
  /** SHA-1 of the script's text, in hexadecimal. */
  readonly sha: string;
  /** Names of keys, without the client's own prefix. */
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** One page of SCAN. The last page's cursor is `0`. */
export interface ScanPage {
  readonly cursor: string;
  readonly keys: readonly string[];
}

/** Who hears what a subscription hears. No method may throw. */
export interface SubscriptionListener {
  /** A message came. */
  message(payload: string): void;
  /**
   * The subscription is confirmed again after its connection was lost. Messages in between are
   * gone.
   */
  up(): void;
  /** The connection is lost; nothing is heard until `up`. */
  down(): void;
}

/** A live subscription. */
export interface Subscription {
  /** Ends the subscription and its connection. Never rejects, and leaves no handle open. */
  close(): Promise<void>;
}
