/**
 * Text from elsewhere in messages: keys, labels, names, a server's words. Quoted or escaped, it
 * cannot begin a new line of a log, control a terminal, or reverse the order of what is shown.
 */

/** Characters of a quoted text at most. */
const QUOTED_MAX = 100;
/** Characters of a server's or a client's message at most. */
const MESSAGE_MAX = 500;

/** Control characters, line and paragraph separators, and invisible and bidirectional marks. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029\p{Surrogate}]/gu;

/** A text in quotation marks, escaped as in JSON, and cut. */
export function quote(text: string, max: number = QUOTED_MAX): string {
  return escaped(JSON.stringify(cut(text, max)));
}

/** A message without quotation marks, escaped and cut. */
export function printable(text: string, max: number = MESSAGE_MAX): string {
  return escaped(cut(text, max));
}

/** The escaped text, whole. */
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
