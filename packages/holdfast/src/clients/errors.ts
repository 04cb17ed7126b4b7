/** What the errors of both clients tell: did the server answer, or did the way to it fail. */

// by name, not by class: an application may hold several copies of a client, and we import none
const REPLY_CLASSES = new Set(['ReplyError', 'ErrorReply', 'SimpleError', 'BlobError']);

// a bundler that shortens the names of classes leaves the shape: `NOSCRIPT No matching script`
const REPLY_SHAPE = /^[A-Z][A-Z0-9_]+(?: |$)/;

// replies to what a client says while it connects; both clients reject waiting commands with them
const HANDSHAKE_REPLY = /^(?:WRONGPASS|NOPROTO)(?: |$)/;
const HANDSHAKE_COMMANDS = new Set(['auth', 'hello', 'select', 'client', 'readonly', 'info']);

/**
 * True if `error` is the server's answer to a command of ours.
 *
 * An answer to the client's own handshake is not: the commands that are rejected with it were
 * never sent.
 */
export function isErrorReply(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { message, command } = error as { message?: unknown; command?: { name?: unknown } };
  if (typeof message !== 'string' || HANDSHAKE_REPLY.test(message)) return false;
  // ioredis alone says which command was answered
  if (HANDSHAKE_COMMANDS.has(String(command?.name).toLowerCase())) return false;
  return hasReplyClass(error) || hasReplyShape(error, message);
}

function hasReplyClass(error: object): boolean {
  if (REPLY_CLASSES.has((error as { name?: string }).name ?? '')) return true;
  let link: object | null = error;
  while ((link = Object.getPrototypeOf(link) as object | null) !== null) {
    if (REPLY_CLASSES.has((link.constructor as { name?: string } | undefined)?.name ?? '')) {
      return true;
    }
  }
  return false;
}

function hasReplyShape(error: object, message: string): boolean {
  // errors of Node, of the socket and of TLS carry a code of their own
  return !('code' in error) && REPLY_SHAPE.test(message);
}
