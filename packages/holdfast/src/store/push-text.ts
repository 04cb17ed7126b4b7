/**
 * Pushes as texts: words with a space between them, a gate's key at the end. Scripts write the same
 * texts.
 */
import type * as T from '../engine/commands.js';

const REASONS: readonly (T.BreakReason | '')[] = [
  ...(['', 'expired', 'withdrawn', 'reset', 'deleted'] as const),
];

const TOLD: ReadonlyMap<string | undefined, 'revoke' | 'signal' | 'ask'> = new Map([
  ['r', 'revoke'],
  ['s', 'signal'],
  ['a', 'ask'],
] as const);

export function encodePush(push: T.Push): string {
  switch (push.kind) {
    case 'grant': {
      const { id, fence, now, left, handOffs, holds, token } = push;
      return `g ${id} ${fence} ${now} ${left} ${handOffs} ${holds} ${token}`;
    }
    case 'revoke':
      return `r ${push.id}`;
    case 'signal':
      return `s ${push.id}`;
    case 'ask':
      return `a ${push.id}`;
    case 'gate': {
      const { key, generation, fate, reason, current, token } = push;
      return `${fate === 'open' ? 'o' : 'b'} ${generation} ${current} ${reason} ${token} ${key}`;
    }
  }
}

/**
 * `undefined` if malformed. Any client with the right to publish may have sent the message, so a
 * grant counts only with the receiver's token.
 */
export function decodePush(payload: string): T.Push | undefined {
  if (/^[ob] /.test(payload)) return decodeGatePush(payload);
  const [kind, id, ...rest] = payload.split(' ');
  if (id === undefined || id === '') return undefined;
  const told = TOLD.get(kind);
  if (told !== undefined) return rest.length === 0 ? { kind: told, id } : undefined;
  if (kind !== 'g' || rest.length !== 6) return undefined;
  const token = rest.pop() as string;
  const numbers = rest.map(wholeOf);
  if (numbers.includes(undefined)) return undefined;
  const [fence, now, left, handOffs, holds] = numbers as [number, number, number, number, number];
  return { kind: 'grant', id, fence, now, left, handOffs, holds, token };
}

/** A number in a script's format; `undefined` if malformed or too large to be exact. */
export function wholeOf(text: string): number | undefined {
  const number = Number(text);
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(number) ? number : undefined;
}

/**
 * `o` (open) or `b` (broken), the generation, the current generation, the reason, the token, and
 * the key, which may contain spaces.
 */
function decodeGatePush(payload: string): T.GatePush | undefined {
  const found = /^([ob]) (\d{1,16}) (\d{1,16}) (\w*) (\S*) (.+)$/su.exec(payload);
  if (found === null) return undefined;
  const [, letter, of, now, why, token, key] = found as unknown as string[];
  const [generation, current] = [Number(of), Number(now)];
  const reason = REASONS.find((one) => one === why);
  if (!Number.isSafeInteger(generation) || !Number.isSafeInteger(current)) return undefined;
  if (reason === undefined || (letter === 'o') !== (reason === '')) return undefined;
  return {
    kind: 'gate',
    key: key as string,
    generation,
    fate: letter === 'o' ? 'open' : 'broken',
    reason,
    current,
    token: token as string,
  };
}
