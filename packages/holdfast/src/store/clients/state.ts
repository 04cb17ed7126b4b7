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
type Watch = { users: number; readonly note: (error: unknown) => void };
const watches = new WeakMap<object, Watch>();

/**
 * A listener of `errorMonitor` does not count as one of `error`, so the client behaves as before.
 */
export function watchErrors(client: object, users: 1 | -1 = 1): void {
  type Listen = (event: symbol, listener: Watch['note']) => unknown;
  const { on, off } = client as { on?: Listen; off?: Listen };
  const note = (error: unknown): void =>
    void lastErrors.set(client, error instanceof Error ? error.message : String(error));
  const watch = watches.get(client) ?? { users: 0, note };
  watches.set(client, watch);
  if (watch.users === 0) on?.call(client, errorMonitor, watch.note);
  watch.users += users;
  if (watch.users === 0) off?.call(client, errorMonitor, watch.note);
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
