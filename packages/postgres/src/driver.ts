/**
 * The parts of a client library that this package uses. Every parameter and every column is a text:
 * clients convert other types in different ways, and a program may change how.
 */

/** A row of a result, by the names of its columns. */
export type Row = Readonly<Record<string, string | null>>;

/** How a statement is run. */
export type Kind =
  /** Often: the server keeps its plan, if the connection is that of one client. */
  'often' | 'seldom';

/** Receives the events of a connection. */
export interface SessionEvents {
  message(channel: string, text: string): void;
  /** The connection has ended, also if this process ended it. May be called more than once. */
  ended(error?: unknown): void;
}

/** One connection to the server. It runs one statement at a time. */
export interface Session {
  query(text: string, values: readonly string[], kind?: Kind): Promise<readonly Row[]>;
  /** Says whether a statement is under way. A connection without one does not keep Node running. */
  busy?(busy: boolean): void;
  /** Ends the connection, at once if it is `dead`. Never rejects. */
  end(dead: boolean): Promise<void>;
}

/** Opens a connection. */
export type Opener = (events: SessionEvents) => Promise<Session>;

/** A client library. */
export interface Driver {
  /** The name of the client, for messages. */
  readonly label: string;
  /** Runs one statement outside of a transaction of the program. */
  query(text: string, values: readonly string[], kind?: Kind): Promise<readonly Row[]>;
  /** Opens the connection for messages; not set if there is none. */
  readonly subscribe?: Opener | undefined;
  /** True if the connection for messages is not that for statements. */
  readonly isApart: boolean;
  /** Connections stay open from now on, also after `close`. */
  use?(): void;
  /** Ends all connections that the driver has opened. */
  close(): Promise<void>;
}
