/** Each check throws `HOLDFAST_BAD_OPTION` with the option's name. */
import { type Clock, systemClock } from './clock.js';
import { badOption, unknownOption } from './errors.js';
import { MARK } from './marker-key.js';

const KEY_BYTES_MAX = 1024;
export const TEXT_MAX = 200;

export function checkOwner(owner: unknown, name = 'owner'): string {
  const checked = text(name, owner, '', TEXT_MAX);
  if (checked === '') throw badOption(name, 'a non-empty string', checked);
  return checked;
}

export function checkKey(key: unknown, name = 'key'): string {
  const expected = `a non-empty string of at most ${KEY_BYTES_MAX} bytes in UTF-8`;
  if (typeof key !== 'string' || key === '') throw badOption(name, expected, key);
  if (key.length > KEY_BYTES_MAX || Buffer.byteLength(key) > KEY_BYTES_MAX) {
    throw badOption(name, expected, key);
  }
  // all lone surrogates have one encoding: two keys would become one
  if (/\p{Surrogate}/u.test(key))
    throw badOption(name, 'well-formed Unicode without lone surrogates', key);
  return key;
}

export function checkLockKey(key: unknown, name = 'key'): string {
  const checked = checkKey(key, name);
  if (!checked.includes(MARK)) return checked;
  throw badOption(name, 'text without U+001F, which only keys of markers contain', key);
}

export function duration(
  name: string,
  value: unknown,
  fallback: number,
  min: number,
  max: number,
): number {
  if (value === undefined) return fallback;
  if (value === Number.POSITIVE_INFINITY && max === Number.MAX_SAFE_INTEGER) return value;
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw badOption(name, `a number of milliseconds from ${min} to ${max}`, value);
  }
  return value;
}

/** A whole number in a range. */
export function whole(
  name: string,
  value: unknown,
  fallback: number,
  min: number,
  max: number,
): number {
  if (value === undefined) return fallback;
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
    throw badOption(name, `a whole number from ${min} to ${max}`, value);
  }
  return value as number;
}

/** True or false. */
export function flag(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw badOption(name, 'true or false', value);
  return value;
}

export function text(name: string, value: unknown, fallback: string, max: number): string {
  if (value === undefined) return fallback;
  if (typeof value !== 'string' || value.length > max || /\p{Surrogate}/u.test(value)) {
    throw badOption(name, `well-formed text of at most ${max} characters`, value);
  }
  return value;
}

export function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw badOption('signal', 'an AbortSignal', signal);
}

export function checkCallback(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw badOption(name, 'a function', value);
}

/** An object without other options: one that is misspelt or inherited would be ignored. */
export function known(name: string, value: unknown, names: ReadonlySet<string>): void {
  if (typeof value !== 'object' || value === null) throw badOption(name, 'an object', value);
  const keys = Object.keys(value);
  for (const option of keys) if (!names.has(option)) throw unknownOption(option, names);
  const base: unknown = Object.getPrototypeOf(value);
  if (base === null || base === Object.prototype) return;
  for (const option of names) {
    const inherited = keys.includes(option)
      ? undefined
      : (value as Record<string, unknown>)[option];
    if (inherited !== undefined) {
      throw badOption(option, 'an own property, not inherited', inherited);
    }
  }
  const tag = Object.prototype.toString.call(value);
  if (keys.length === 0 && tag !== '[object Object]') throw badOption(name, 'an object', tag);
}

export function checkClock(clock: Clock = systemClock): Clock {
  const whole = ['now', 'wall', 'after'].every(
    (name) => typeof (clock as unknown as Record<string, unknown> | null)?.[name] === 'function',
  );
  if (!whole) throw badOption('clock', 'a Clock', clock);
  return clock;
}
