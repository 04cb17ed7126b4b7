/**
 * Grants that no process has heard: the next change ends them, so a waiter whose process died does
 * not hold the lease for its claim window.
 *
 * Invariant: a lease in which a process may believe is not ended. So no command is about it; that
 * change follows directly; and answers that tell a grant come with a change: one that was
 * interrupted before a read may be completed after it.
 */
import type { KeyCommand, KeyReply, Push, Standing } from '../../engine/commands.js';
import type { Addressed } from '../../engine/serve.js';
import { StoreFailure } from '../port.js';
import type { Applied } from './apply.js';
import { isNamed, type Pending, UNAWAITED } from './pending.js';

/** @param version of the state with the grants */
export function unheard(
  key: string,
  batch: readonly Pending[],
  pushes: readonly Addressed[],
  deaf: readonly string[],
  version: string,
): Pending[] {
  const retention = Math.max(...batch.map(({ command }) => retentionOf(command)));
  return pushes.flatMap(({ channel, push }) => {
    if (!isGrant(push) || push.holds > 1 || !deaf.includes(channel)) return [];
    if (isNamed(push.id, batch)) return [];
    const { id } = push;
    const command = { op: 'release', key, id, unheard: true, retention } as const;
    return [{ command, unheard: { id, version }, ...UNAWAITED }];
  });
}

export function tellsGrant({ replies }: Applied): boolean {
  return replies.some((reply) => {
    if (reply instanceof StoreFailure) return false;
    return isGranted(reply) || (reply.status === 'polled' && reply.standings.some(isGranted));
  });
}

const isGranted = ({ status }: Pick<KeyReply | Standing, 'status'>): boolean =>
  status === 'granted';

type GrantPush = Extract<Push, { kind: 'grant' }>;

const isGrant = (push: Push): push is GrantPush => push.kind === 'grant';

const retentionOf = (command: KeyCommand): number =>
  'retention' in command ? command.retention : 0;
