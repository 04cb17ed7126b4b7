import type { ClientState } from './state.js';

/**
 * What Holdfast needs from a client of the server, with structural types: no client is imported.
 *
 * An adapter only translates. It sets no deadline (the store has its own), retries nothing, and
 * closes only connections that it opened.
 */
export interface ClientPort extends ClusterPart, SentinelPart, SilencePart, ConnectionPart {
  /** The name for messages: `ioredis`, `node-redis` or `valkey-glide`. */
  readonly name: string;

  readonly client: object;

  /** The prefix that the client adds to each key; may be empty. */
  readonly keyPrefix: string;

  /** The client writes at the end of a turn, not during the call. */
  readonly writesLater: boolean;

  /**
   * Sends one EVALSHA for each call, in order, over one connection, in one write if the client can.
   * Each promise settles independently. Never throws synchronously.
   */
  evalsha(calls: readonly ScriptCall[]): Promise<unknown>[];

  /**
   * Sends EVAL with the text, after NOSCRIPT.
   * @param of the call without an answer
   */
  eval(
    source: string,
    keys: readonly string[],
    args: readonly string[],
    of?: CallTerms,
  ): Promise<unknown>;

  /**
   * One page of SCAN. `match` is sent unchanged; the names have the client's prefix.
   * @param proof is sent in a probe behind it, see `ScanPage.answer`
   */
  scan(cursor: string, match: string, count: number, proof?: string): Promise<ScanPage>;

  /**
   * Subscribes on a new connection with the settings of the user's client (address, TLS, user name,
   * password). Resolves when first confirmed. The connection reconnects by itself, and reports each
   * change to `listener`.
   */
  subscribe(channel: string, listener: SubscriptionListener): Promise<Subscription>;

  /**
   * If it has changed, the client may have repeated pending commands. Constant if the client never
   * does that.
   */
  connection(): unknown;

  /**
   * True for an error reply of the server (the request arrived), false if the connection failed.
   */
  isReply(error: unknown): boolean;

  /** Why the client cannot send commands; `undefined` if it can. */
  state(): ClientState | undefined;
}

export interface ClusterPart {
  /** Set if the client is connected to a cluster. `subscribe` is then not used. */
  readonly cluster?: ClusterView;
}

export interface SentinelPart {
  /** Set if the client does not keep a subscription at the present master by itself. */
  readonly sentinel?: MasterView;

  /**
   * Makes the client's connections leave a former master, by the sentinels. Set if the client does
   * not. Never rejects.
   */
  leaveFormerMaster?(): Promise<void>;
}

export interface SilencePart {
  /**
   * Whether the connection has died silently; ends it if the client then connects again. Resolves
   * to a warning's text if it is dead. Never rejects. Not for clients of a cluster.
   * @param pause resolves after so many ms
   */
  endSilence?(pause: (ms: number) => Promise<void>): Promise<string | undefined>;

  /** See `Store.blockedBy`. */
  blockedBy?(): string | undefined;

  delay?(): string;
}

export interface ConnectionPart {
  /**
   * Sends one EVALSHA, and gives the reply to a receiver, possibly while the client reads it. False
   * if the call has to go through `evalsha` now. Never throws.
   * @param last one more argument
   */
  readonly post?: ((call: ScriptCall, last: string, to: RawOutcome) => boolean) | undefined;

  /** No connection for `WAIT` can be opened, see `line.ts`. */
  readonly hasNoLine?: true;
}

/** A port with some other methods; the rest follows `port`, also later changes. */
export function over<T extends object>(port: ClientPort, methods: T): ClientPort & T {
  return Object.assign(Object.create(port) as ClientPort, methods);
}

export interface MasterView {
  /** Subscribes there as `ClientPort.subscribe`, but the connection does not reconnect. */
  subscribe(channel: string, listener: ShardListener): Promise<Subscription>;

  /** Calls back after each change, until the returned function is called. */
  onChange(changed: () => void): () => void;
}

export interface ClusterView {
  /** See `CallTerms.at`. */
  readonly takesAddress?: boolean;

  /** The client repeats each call after `TRYAGAIN`, see `CallTerms.movesApart`. */
  readonly triesAgain?: boolean;

  /** It may change keys, but not arguments. */
  readonly changesKeys?: boolean;

  masters(): readonly string[];

  masterOf(slot: number): string | undefined;

  /**
   * Asks another node than the silent one for the slots: clients do so after a redirection, not
   * when a node stops answering. Never rejects.
   */
  refresh(silent: string): Promise<void>;

  /** Subscribes as in `MasterView`, to a sharded channel at this master. */
  subscribe(address: string, channel: string, listener: ShardListener): Promise<Subscription>;
}

/** No method may throw. */
export interface ShardListener {
  message(payload: string): void;
  /** The connection is lost, or the slot has moved: no message arrives any more. */
  over(): void;
  readonly ended?: AbortSignal | undefined;
}

/** One of the two is called, once; neither throws. `isSame`: see `Outcome.replied`. */
export interface RawOutcome {
  answered(raw: unknown, isSame: boolean): void;
  failed(error: unknown, isSame: boolean): void;
}

export interface CallTerms {
  /**
   * The master that executes the call, which has no keys. It is sent to this node only, once: if
   * that is not connected, or its connection ends, it is rejected. Only with
   * `ClusterView.takesAddress`. A client that routes by keys may use the first of `names`.
   */
  readonly at?: string;
  /** The keys whose commands keep their order; by default the first. */
  readonly names?: readonly string[];
  /**
   * The caller has another call for a slot that moves: redirections and `TRYAGAIN` reject this one
   * at once, unless the client is in between.
   */
  readonly movesApart?: boolean;
}

export interface ScriptCall extends CallTerms {
  /** SHA-1 of the text, in hexadecimal. */
  readonly sha: string;
  /** The names without the client's prefix. */
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** The last page's cursor is `0`. */
export interface ScanPage {
  readonly cursor: string;
  readonly keys: readonly string[];
  readonly answer?: unknown;
}

/** No method may throw. */
export interface SubscriptionListener {
  message(payload: string): void;
  /** Confirmed again. Messages in between are lost. */
  up(): void;
  /** No message arrives until `up`. */
  down(): void;
  readonly ended?: AbortSignal | undefined;
}

export interface Subscription {
  /** Ends the subscription and its connection. Never rejects, and leaves no handle open. */
  close(): Promise<void>;
}
