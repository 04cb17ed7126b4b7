/**
 * Copies foreign errors for the `cause` of ours: name, message, code and stack. A client attaches
 * the command and its arguments, perhaps a password.
 */
import { escaped, printable } from './text.js';

const DEPTH = 4;
const STACK_MAX = 4000;

export function cleanCause(cause: unknown, depth: number = DEPTH): Error | undefined {
  if (cause === undefined || depth === 0) return undefined;
  if (!(cause instanceof Error)) {
    return new Error(
      typeof cause === 'string' ? printable(cause) : `not an error: ${typeof cause}`,
    );
  }
  const { code } = cause as { code?: unknown };
  const inner = cleanCause(cause.cause, depth - 1);
  const copy = new Error(printable(cause.message), inner && { cause: inner });
  define(copy, 'name', printable(cause.name));
  define(copy, 'stack', stackOf(cause, copy));
  if (typeof code === 'string' || typeof code === 'number') Object.assign(copy, { code });
  return copy;
}

function stackOf(original: Error, { name, message }: Error): string {
  const lines = (original.stack ?? '').slice(0, STACK_MAX).split('\n');
  const places = lines.filter((line) => /^\s+at /u.test(line)).map(escaped);
  return [`${name}: ${message}`, ...places].join('\n');
}

function define(error: Error, name: string, value: string): void {
  Object.defineProperty(error, name, { value, writable: true, configurable: true });
}
