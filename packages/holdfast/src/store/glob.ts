/**
 * Glob patterns exactly as in Redis: `*`, `?`, `[abc]`, `[^a]`, `[a-z]`, a backslash before a
 * literal character, and the same reading of malformed patterns, on bytes of UTF-8.
 *
 * Parsing is linear. Matching goes back only to the last `*`, so it takes at most (pattern length)
 * × (text length) steps.
 */

import type { Store, TimeLimit } from './port.js';

/** Any number of bytes, or one byte of a set (256 flags). */
export type Element = '*' | Uint8Array;

const STAR = 0x2a;
const QUESTION = 0x3f;
const OPEN = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE = 0x5d;
const CARET = 0x5e;
const DASH = 0x2d;

export class Glob {
  readonly elements: readonly Element[];

  constructor(pattern: string) {
    this.elements = parse(Buffer.from(pattern));
  }

  matches(text: string): boolean {
    return match(this.elements, Buffer.from(text), () => undefined);
  }
}

export async function* matchingKeys(
  store: Store,
  pattern: string,
  within: TimeLimit,
): AsyncGenerator<string> {
  const glob = pattern === '*' ? undefined : new Glob(pattern);
  for await (const key of store.keys(pattern, within)) {
    if (glob === undefined || glob.matches(key)) yield key;
  }
}

/** After a mismatch, the last `*` takes one more byte: an earlier one could not match more. */
export function match(elements: readonly Element[], text: Uint8Array, step: () => void): boolean {
  let e = 0;
  let t = 0;
  let star = -1;
  let taken = 0;
  while (t < text.length) {
    step();
    const element = elements[e];
    if (element === '*') {
      star = e;
      taken = t;
      e += 1;
    } else if (element !== undefined && element[text[t] as number] === 1) {
      e += 1;
      t += 1;
    } else if (star >= 0) {
      e = star + 1;
      taken += 1;
      t = taken;
    } else {
      return false;
    }
  }
  while (elements[e] === '*') e += 1;
  return e === elements.length;
}

function parse(pattern: Uint8Array): Element[] {
  const elements: Element[] = [];
  let p = 0;
  while (p < pattern.length) {
    const byte = pattern[p] as number;
    if (byte === STAR) {
      if (elements.at(-1) !== '*') elements.push('*');
      p += 1;
    } else if (byte === QUESTION) {
      elements.push(new Uint8Array(256).fill(1));
      p += 1;
    } else if (byte === OPEN) {
      const { set, end } = readSet(pattern, p);
      elements.push(set);
      p = end;
    } else {
      if (byte === BACKSLASH && p + 1 < pattern.length) p += 1;
      elements.push(only(pattern[p] as number));
      p += 1;
    }
  }
  return elements;
}

function only(byte: number): Uint8Array {
  const set = new Uint8Array(256);
  set[byte] = 1;
  return set;
}

function readSet(pattern: Uint8Array, open: number): { set: Uint8Array; end: number } {
  const set = new Uint8Array(256);
  let p = open + 1;
  const not = pattern[p] === CARET;
  if (not) p += 1;
  for (; p < pattern.length && pattern[p] !== CLOSE; p++) {
    const left = pattern.length - p;
    const byte = pattern[p] as number;
    if (left >= 2 && byte === BACKSLASH) {
      p += 1;
      set[pattern[p] as number] = 1;
    } else if (left >= 3 && pattern[p + 1] === DASH) {
      const to = pattern[p + 2] as number;
      set.fill(1, Math.min(byte, to), Math.max(byte, to) + 1);
      p += 2;
    } else {
      set[byte] = 1;
    }
  }
  if (not) for (let byte = 0; byte < 256; byte++) set[byte] = 1 - (set[byte] as number);
  return { set, end: p + 1 };
}
