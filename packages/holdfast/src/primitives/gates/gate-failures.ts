import type { BreakReason, GateKind, GateOther } from '../../engine/commands.js';
import { HoldfastError } from '../../base/errors.js';
import { unreachable } from '../../acquire/failures.js';
import type { GateWaiter } from './gate-waiter.js';
import { quote } from '../../base/text.js';

const WHY: Record<GateKind, Record<BreakReason | '', string>> = {
  latch: {
    expired: 'it was not counted down within its ttl',
    withdrawn: 'it was given up',
    reset: 'it was reset',
    deleted: 'it was deleted',
    '': 'the store does not remember it',
  },
  barrier: {
    expired: 'a party sent no request within its ttl',
    withdrawn: 'a party gave up waiting',
    reset: 'it was reset',
    deleted: 'it was deleted',
    '': 'the store does not remember this generation',
  },
};

export function broken(kind: GateKind, key: string, reason: BreakReason | ''): HoldfastError {
  const message = `Holdfast: the ${kind} ${quote(key)} is broken: ${WHY[kind][reason]}`;
  return new HoldfastError('HOLDFAST_BROKEN', message, { key });
}

export function otherGate(key: string, reply: Pick<GateOther, 'kind' | 'count'>): HoldfastError {
  const what = reply.kind === 'latch' ? 'a latch with the count' : 'a barrier with parties:';
  const message = `Holdfast: ${quote(key)} was refused: it is in use as ${what} ${reply.count}`;
  const option = reply.kind === 'latch' ? 'count' : 'parties';
  return new HoldfastError('HOLDFAST_MISMATCH', message, { key, option });
}

export function endOfWait({ subject, trouble, request }: GateWaiter): HoldfastError {
  if (trouble !== undefined) return unreachable(subject.key, trouble);
  return notOpened(subject.key, request.wait);
}

function notOpened(key: string, wait: number): HoldfastError {
  const message = `Holdfast: ${quote(key)} did not open within ${wait} ms`;
  return new HoldfastError('HOLDFAST_TIMEOUT', message, { key });
}

export function mayHaveCounted(key: string, cause: unknown): HoldfastError {
  const message = `Holdfast: no answer for ${quote(key)}; the arrival may have counted`;
  return new HoldfastError('HOLDFAST_UNCERTAIN', message, { key, cause });
}

export function gateClosed(key: string): HoldfastError {
  const message = `Holdfast: this instance is closed and does not wait for ${quote(key)}`;
  return new HoldfastError('HOLDFAST_CLOSED', message, { key });
}
