/** Tells a reply of the server from a failure of the connection. */

// by name: an application may have several copies of a client
const REPLY_CLASSES = new Set(['ReplyError', 'ErrorReply', 'SimpleError', 'BlobError']);

// a bundler may shorten class names
const REPLY_SHAPE = /^[A-Z][A-Z0-9_]+(?: |$)/;

// both clients reject waiting commands with these replies to the handshake
const HANDSHAKE_REPLY = /^(?:WRONGPASS|NOPROTO|ERR max number of clients)(?: |$)/;
const HANDSHAKE_COMMANDS = new Set(['auth', 'hello', 'select', 'client', 'readonly', 'info']);

/** A proxy tells it. */
const OUTAGE = new RegExp(
  '^(?:ERR )?(?:(?:(?:Dynomite|Storage|Peer): )*(?:unknown$|Broken pipe|No route to host|' +
    'Host is (?:down|unreachable)|Network is |Connection (?:refused|timed out|reset))|' +
    '(?:no )?upstream (?:failure|protocol error|host)$|' +
    'no server (?:connection )?av|server connection close|deliver request fail|' +
    'router is not online|handle re[a-z]+, (?:backend|slot|resp|request is broken)|' +
    'Proxy (?!fail to parse)|Cluster node disconn|Failed to (?:read|write|get reply))',
);

/**
 * Whether `error` is the server's reply to a Holdfast command, not to the client's handshake:
 * commands rejected with that were never sent.
 */
export function isErrorReply(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { message, command } = error as { message?: unknown; command?: { name?: unknown } };
  if (typeof message !== 'string' || HANDSHAKE_REPLY.test(message) || OUTAGE.test(message)) {
    return false;
  }
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
