/**
 * The statuses that each script may return. A broken proxy may deliver another command's reply:
 * then the command counts as unanswered.
 */
import type { LockCommand, Replies, Reply } from '../../engine/commands.js';
import { StoreFailure } from '../port.js';

type Statuses = { readonly [Op in LockCommand['op']]: readonly Replies[Op]['status'][] };

const STATUSES: Statuses = {
  acquire: ['granted', 'queued', 'refused', 'full', 'mismatch', 'conflict', 'crowded'],
  release: ['freed', 'kept', 'dequeued', 'absent'],
  turn: ['freed', 'absent'],
  renew: ['renewed', 'absent'],
  poll: ['polled'],
  inspect: ['inspected'],
  forceRelease: ['forced'],
  park: ['parked', 'queued', 'granted', 'shared', 'full', 'absent'],
  signal: ['signalled', 'absent'],
  resize: ['resized', 'refused', 'absent'],
  capacity: ['changed', 'mismatch', 'absent'],
};

/** Throws a `StoreFailure` for a reply of another command. */
export function belonging(op: LockCommand['op'], reply: Reply): Reply {
  if ((STATUSES[op] as readonly string[]).includes(reply.status)) return reply;
  const message = `the reply "${reply.status}" does not belong to ${op}`;
  throw new StoreFailure(message, 'unanswered', undefined);
}

/** The server replies inside a user's transaction only at its end. */
export function notQueued(raw: unknown): unknown {
  if (raw !== 'QUEUED') return raw;
  const message =
    'the client is inside MULTI, so the command waits for its EXEC; ' +
    'give Holdfast a client that nothing else uses for transactions or blocking commands';
  throw new StoreFailure(message, 'refused', undefined);
}
