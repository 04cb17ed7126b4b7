/** What the error replies of the server mean, by their first word. */
import { StoreFailure, UnreadableRecord } from '../port.js';

/**
 * The server cannot execute commands now: it loads its data, is a replica or has none, a script
 * runs for too long, slots move, or its disk fails. Or the connection has no login, and the client
 * sends commands nevertheless. The command may succeed later.
 */
const TRANSIENT =
  /^(LOADING|READONLY|MASTERDOWN|BUSY|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|MISCONF|NOAUTH|WRONGPASS)\b/;

/** A script found another type of key, or text that it did not write. */
const UNREADABLE = /^WRONGTYPE\b|^(?:ERR )?user_script:\d/;

export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** The advice if the login of a new connection is refused; else empty. */
export function loginAdvice(error: unknown): string {
  if (!(error instanceof Error && /^(WRONGPASS|NOAUTH)\b/.test(error.message))) return '';
  return ' (if the password was replaced, set the new one in the options of the client)';
}

export function failureOf(error: unknown, answered: boolean, advice = ''): StoreFailure {
  const message = (error instanceof Error ? error.message : String(error)) + advice;
  if (!answered) return new StoreFailure(message, 'unanswered', error);
  if (UNREADABLE.test(message)) return new UnreadableRecord(message, error);
  return new StoreFailure(message, TRANSIENT.test(message) ? 'transient' : 'refused', error);
}
