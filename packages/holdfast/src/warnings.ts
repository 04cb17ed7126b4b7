/** The texts of warnings, loaded with the first of them. */
import { quote } from './text.js';
import type { HoldfastWarning } from './warner.js';

export function longWait(key: string, waited: number): HoldfastWarning {
  const message = `Holdfast: a call has waited ${seconds(waited)} for ${quote(key)}`;
  return { code: 'HOLDFAST_LONG_WAIT', message, key };
}

export function selfWait(key: string, waited: number, held: number): HoldfastWarning {
  const message =
    `Holdfast: a call has waited ${seconds(waited)} for ${quote(key)}, which this process itself ` +
    `has held for ${seconds(held)}. If the holder awaits that call, it waits for itself: use ` +
    'mutex(key, { reentrant: true }), or pass the lease on. If two tasks each hold a lock and ' +
    'wait for that of the other, acquire both with allOf';
  return { code: 'HOLDFAST_SELF_WAIT', message, key };
}

export function blocked(command: string): HoldfastWarning {
  const message =
    `Holdfast: no reply, because the client waits for the reply to ${command}, which blocks all ` +
    'commands behind it. No lease can be renewed meanwhile. Give Holdfast a client of its own, ' +
    'for example client.duplicate()';
  return { code: 'HOLDFAST_BLOCKED_CLIENT', message, key: undefined };
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
