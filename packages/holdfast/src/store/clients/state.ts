/**
 * Why a client does not answer: its state, the server's address and its last error, without
 * passwords.
 */
import { errorMonitor } from 'node:events';

export interface ClientState {
  /** The client sends no commands until the program connects it. */
  readonly closed: boolean;
  /** The text may have unescaped text of the server. */
  readonly text: string;
}

const lastErrors = new WeakMap<object, string>();
const watched = new WeakSet<object>();

/**
 * A listener of `errorMonitor` does not count as one of `error`, so the client behaves as before.
 */
export function watchErrors(client: object): void {
  if (watched.has(client)) return;
  watched.add(client);
  const { on } = client as { on?: (event: symbol, listener: (error: unknown) => void) => unknown };
  on?.call(client, errorMonitor, (error) => {
    lastErrors.set(client, error instanceof Error ? error.message : String(error));
  });
}

interface Address {
  readonly host?: string;
  readonly path?: string;
  readonly port?: number | string;
  readonly tls?: unknown;
}

/** A server without TLS does not answer TLS' first message, and closes nothing. */
const NO_TLS = '; it uses TLS: if the port of the server does not, neither side says so';

export function notReady(client: object, state: string, address: unknown): string {
  const { tls } = (address ?? {}) as Address;
  const last = lastErrors.get(client);
  const silent = tls === undefined || tls === false ? '' : NO_TLS;
  const why = last === undefined ? silent : `, its last error is: ${last}`;
  return `the client is ${state} (${placeOf(address)})${why}`;
}

export function placeOf(address: unknown): string {
  const { host = '127.0.0.1', path, port = 6379 } = (address ?? {}) as Address;
  return path ?? `${host}:${port}`;
}
