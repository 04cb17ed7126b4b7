/** Tells a reply of the server from a failure of the connection. */

// by name: an application may contain several copies of a client
const REPLY_CLASSES = new Set(['ReplyError', 'ErrorReply', 'SimpleError', 'BlobError']);

// a bundler may shorten class names; the message keeps its form
const REPLY_SHAPE = /^[A-Z][A-Z0-9_]+(?: |$)/;

// replies to the handshake, with which both clients reject waiting commands
const HANDSHAKE_REPLY = /^(?:WRONGPASS|NOPROTO)(?: |$)/;
const HANDSHAKE_COMMANDS = new Set(['auth', 'hello', 'select', 'client', 'readonly', 'info']);

/**
 * True if `error` is the server's reply to a Holdfast command. A reply to the client's own
 * handshake is not: the commands that are rejected with it were never sent.
 */
export function isErrorReply(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { message, command } = error as { message?: unknown; command?: { name?: unknown } };
  if (typeof message !== 'string' || HANDSHAKE_REPLY.test(message)) return false;
  // only ioredis names the command
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
  // errors of Node, of the socket and of TLS have a code
  return !('code' in error) && REPLY_SHAPE.test(message);
}
