import type { ClientState } from './state.js';

/**
 * What Holdfast needs from a Redis client, with structural types: no client is imported.
 *
 * An adapter only translates. It sets no deadline (the store has its own), retries nothing, and
 * never closes the user's client, only connections that it opened itself.
 */
export interface ClientPort extends ClusterPart, SentinelPart, SilencePart, ConnectionPart {
  /** For messages: `ioredis`, `node-redis` or `valkey-glide`. */
  readonly name: string;

  /** The client itself, for `admin.ts`. */
  readonly client: object;

  /** What the client itself adds to each key, or an empty string. */
  readonly keyPrefix: string;

  /** True if the client writes at the end of a turn, not during the call. */
  readonly writesLater: boolean;

  /**
   * Sends one EVALSHA for each call, in order, over one connection, and in one write if the client
   * can. Each promise settles independently. Never throws synchronously.
   */
  evalsha(calls: readonly ScriptCall[]): Promise<unknown>[];

  /**
   * Sends EVAL with the text: the fallback after NOSCRIPT.
   * @param of the call that had no answer
   */
  eval(
    source: string,
    keys: readonly string[],
    args: readonly string[],
    of?: CallTerms,
  ): Promise<unknown>;

  /** Reads one page of SCAN. `match` is sent unchanged; the names have the client's prefix. */
  scan(cursor: string, match: string, count: number): Promise<ScanPage>;

  /**
   * Subscribes on a new connection with the settings of the user's client (address, TLS, user name,
   * password). Resolves when first confirmed. The connection reconnects by itself, and reports each
   * change to `listener`.
   */
  subscribe(channel: string, listener: SubscriptionListener): Promise<Subscription>;

  /**
   * The current connection. If it has changed, the client may have repeated pending commands.
   * Constant if the client never does that.
   */
  connection(): unknown;

  /**
   * True if the server replied with an error (the request arrived), false if the connection failed.
   */
  isReply(error: unknown): boolean;

  /** Why the client is not ready to send commands, otherwise `undefined`. */
  state(): ClientState | undefined;
}

/** Only of a client of a cluster. */
export interface ClusterPart {
  /** Set if the client is connected to a cluster. `subscribe` is then not used. */
  readonly cluster?: ClusterView;
}

/** Only of a client that asks sentinels for its master. */
export interface SentinelPart {
  /** The present master, if the client does not keep a subscription to it by itself. */
  readonly sentinel?: MasterView;

  /**
   * Asks the sentinels, and makes the client's connections leave a former master. Set if the client
   * does not do this itself. Never rejects.
   */
  leaveFormerMaster?(): Promise<void>;
}

/** What a client knows, or does, while a command has no answer; each optional. */
export interface SilencePart {
  /**
   * Finds out whether the connection has died silently, and ends it if the client then connects
   * again. Resolves to a text for a warning if it is dead. Never rejects. Set for clients of one
   * server.
   * @param pause resolves after so many ms
   */
  endSilence?(pause: (ms: number) => Promise<void>): Promise<string | undefined>;

  /** The blocking command whose reply the client awaits, if known. */
  blockedBy?(): string | undefined;

  /** Why a connected client may have no reply, for messages. */
  delay?(): string;
}

/** How a client uses its connections; each optional. */
export interface ConnectionPart {
  /**
   * Sends one EVALSHA, and gives the reply to a receiver, possibly while the client reads it.
   * Returns false if the call has to go through `evalsha` now. Never throws.
   */
  readonly post?: ((call: ScriptCall, to: RawOutcome) => boolean) | undefined;

  /** No further connection for `WAIT` can be opened, see `line.ts`. */
  readonly hasNoLine?: true;
}

/** A port with some other methods. The rest is that of `port`, also what changes there later. */
export function over<T extends object>(port: ClientPort, methods: T): ClientPort & T {
  return Object.assign(Object.create(port) as ClientPort, methods);
}

/** What a Sentinel client tells about the present master. */
export interface MasterView {
  /**
   * Subscribes at the present master, on a new connection with the settings of the user's client.
   * Resolves when confirmed. The connection does not reconnect.
   */
  subscribe(channel: string, listener: ShardListener): Promise<Subscription>;

  /** Calls back after each change of the master, until the returned function is called. */
  onChange(changed: () => void): () => void;
}

/** What a client of a cluster knows of the nodes. */
export interface ClusterView {
  /** Calls may name their node, see `CallTerms.at`. */
  readonly takesAddress?: boolean;

  masters(): readonly string[];

  /** The address of the master of a slot, if the client knows it. */
  masterOf(slot: number): string | undefined;

  /**
   * Asks another node than the silent one for the slots: clients do so after a redirection, not
   * when a node stops answering. Never rejects.
   */
  refresh(silent: string): Promise<void>;

  /**
   * Subscribes to a sharded channel, on a new connection to a master with the settings of the
   * user's client. Resolves when confirmed. The connection does not reconnect.
   */
  subscribe(address: string, channel: string, listener: ShardListener): Promise<Subscription>;
}

/** No method may throw. */
export interface ShardListener {
  message(payload: string): void;
  /** The connection is lost, or the slot has moved. No message arrives any more. */
  over(): void;
}

/**
 * Receives the reply to one call: one of the two is called, once. Neither throws. `isSame`: the
 * connection, see `ClientPort.connection`, is the one on which the call was sent.
 */
export interface RawOutcome {
  answered(raw: unknown, isSame: boolean): void;
  failed(error: unknown, isSame: boolean): void;
}

/** What a client must know of a call beyond its words. */
export interface CallTerms {
  /**
   * The address of the master that executes the call, which has no keys. It is sent to this node
   * only, once: if the client is not connected to it, or the connection ends, it is rejected. Only
   * with `ClusterView.takesAddress`. A client that routes by keys only may use the first one of
   * `names`.
   */
  readonly at?: string;
  /** The keys whose commands keep their order; by default the first key. */
  readonly names?: readonly string[];
  /**
   * The caller has another call for a slot that moves: `ASK` and `TRYAGAIN` reject this one at
   * once, where the client can do that.
   */
  readonly movesApart?: boolean;
}

export interface ScriptCall extends CallTerms {
  /** SHA-1 of the script's text, in hexadecimal. */
  readonly sha: string;
  /** Names of keys without the client's prefix. */
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** The cursor of the last page is `0`. */
export interface ScanPage {
  readonly cursor: string;
  readonly keys: readonly string[];
}

/** No method may throw. */
export interface SubscriptionListener {
  message(payload: string): void;
  /** The subscription is confirmed again. Messages in between are lost. */
  up(): void;
  /** No message arrives until `up`. */
  down(): void;
}

export interface Subscription {
  /** Ends the subscription and its connection. Never rejects, and leaves no handle open. */
  close(): Promise<void>;
}
