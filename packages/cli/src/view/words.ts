/** Text for people: times, and names that other programs chose. */
import type { Participant } from 'holdfast';

const STEPS: readonly (readonly [unit: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

/** A time in the form in which options accept it: `90ms`, `1.5s`, `2m5s`, `1h30m`. */
export function inWords(ms: number): string {
  const rounded = Math.max(0, Math.round(ms));
  if (rounded < 1000) return `${rounded}ms`;
  if (rounded < 10_000) return `${Math.floor(rounded / 100) / 10}s`;
  const at = STEPS.findIndex(([, size]) => rounded >= size);
  const [unit, size] = STEPS[at] as readonly [string, number];
  const whole = `${Math.floor(rounded / size)}${unit}`;
  const next = STEPS[at + 1];
  if (next === undefined) return whole;
  const rest = Math.floor((rounded % size) / next[1]);
  return rest === 0 ? whole : `${whole}${rest}${next[0]}`;
}

/**
 * Text of another program, for a terminal: control characters are shown as `\x1b`, so a key or a
 * label cannot move the cursor or fake a line.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029\p{Surrogate}]/gu, (one) => {
    const code = one.codePointAt(0) as number;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/**
 * JSON for another program. All that would control a terminal is escaped; JSON itself escapes the
 * first 32 characters only. Its reader gets the same text.
 */
export function json(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (one) =>
    one
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** A holder or a waiter: its label, process and machine. */
export function nameOf({ host, label, pid }: Participant): string {
  const place = host === undefined ? '' : `${host}${pid === undefined ? '' : `:${pid}`}`;
  return printable([label, place].filter((text) => text !== undefined && text !== '').join(' '));
}

/** A text of the command line, without the users and passwords of the URLs in it. */
export function withoutPasswords(text: string): string {
  return text.replace(/\b([a-z][a-z+]*:(?:\/\/)?)\S*@/gi, '$1***@');
}
