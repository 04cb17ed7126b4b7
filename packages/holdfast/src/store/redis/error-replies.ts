/** What the error replies of the server mean: their first word is a code. */
import { StoreFailure, UnreadableRecord } from '../port.js';

/**
 * The server cannot execute commands at the moment: it loads its data, is a replica or has none, a
 * script runs for too long, slots move, or its disk fails. The same command may succeed later.
 */
const TRANSIENT = /^(LOADING|READONLY|MASTERDOWN|BUSY|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|MISCONF)\b/;

/** A script found another type of key, or text that it did not write. */
const UNREADABLE = /^WRONGTYPE\b|^(?:ERR )?user_script:\d/;

/** True if the server does not know the script of an EVALSHA. */
export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/**
 * @param answered true if the error is a reply of the server
 * @param advice what to do about it, for the message
 */
export function failureOf(error: unknown, answered: boolean, advice = ''): StoreFailure {
  const message = (error instanceof Error ? error.message : String(error)) + advice;
  if (!answered) return new StoreFailure(message, 'unanswered', error);
  if (UNREADABLE.test(message)) return new UnreadableRecord(message, error);
  return new StoreFailure(message, TRANSIENT.test(message) ? 'transient' : 'refused', error);
}
