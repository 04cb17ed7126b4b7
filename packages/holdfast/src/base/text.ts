/**
 * Quotes and escapes foreign text in messages, so that it cannot start a new log line, control a
 * terminal, or reverse the displayed text.
 */

const QUOTED_MAX = 100;
const MESSAGE_MAX = 500;

/** Control characters, line and paragraph separators, invisible and bidirectional marks. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029\p{Surrogate}]/gu;

export function quote(text: string, max: number = QUOTED_MAX): string {
  return escaped(JSON.stringify(cut(text, max)));
}

export function printable(text: string, max: number = MESSAGE_MAX): string {
  return escaped(cut(text, max));
}

export function escaped(text: string): string {
  return text.replace(UNSAFE, (one) => {
    const code = one.codePointAt(0) as number;
    const hex = code.toString(16);
    return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
  });
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…` : text;
}
