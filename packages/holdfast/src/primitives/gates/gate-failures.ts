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

type Gate = Pick<GateOther, 'kind' | 'count'>;

export function otherGate(asked: Gate & { readonly key: string }, agreed: Gate): HoldfastError {
  const { key, kind } = asked;
  const kinds = `is in use as ${textOf(agreed)}, and was requested as ${textOf(asked)}`;
  const about = { key, option: NUMBER[kind] };
  return new HoldfastError('HOLDFAST_MISMATCH', `Holdfast: ${quote(key)} ${kinds}`, about);
}

const NUMBER = { latch: 'count', barrier: 'parties' } as const;
const textOf = ({ kind, count }: Gate): string => `a ${kind} (${NUMBER[kind]} ${count})`;

export function endOfWait({ subject: { key }, trouble, request }: GateWaiter): HoldfastError {
  if (trouble !== undefined) return unreachable(key, trouble);
  const message = `Holdfast: ${quote(key)} did not open within ${request.wait} ms`;
  return new HoldfastError('HOLDFAST_TIMEOUT', message, { key });
}

export function uncertain(
  key: string,
  cause: unknown,
  what = 'the arrival may have counted',
): HoldfastError {
  const message = `Holdfast: no answer for ${quote(key)}; ${what}`;
  return new HoldfastError('HOLDFAST_UNCERTAIN', message, { key, cause });
}

export function gateClosed(key: string): HoldfastError {
  const message = `Holdfast: this instance is closed and does not wait for ${quote(key)}`;
  return new HoldfastError('HOLDFAST_CLOSED', message, { key });
}
