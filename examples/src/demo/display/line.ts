/** Lines of styled text, and their conversion to text for a terminal. */
import { styleText } from 'node:util';

export type Style = 'plain' | 'dim' | 'bold' | 'green' | 'red' | 'yellow' | 'cyan';

export interface Part {
  readonly text: string;
  readonly style: Style;
}

export type LocalQueue = readonly Part[];

export function line(...parts: (string | Part)[]): LocalQueue {
  return parts.map((part) => (typeof part === 'string' ? styled('plain', part) : part));
}

export function styled(style: Style, text: string): Part {
  return { text, style };
}

/** The line with colours, cut to the width. */
export function paint(parts: LocalQueue, width: number): string {
  let available = width;
  let text = '';
  for (const part of parts) {
    // every character of the demo is one UTF-16 unit and one column wide
    const cut = part.text.slice(0, available);
    available -= cut.length;
    text += part.style === 'plain' || cut === '' ? cut : styleText(part.style, cut);
  }
  return text;
}

/** The line without colours. */
export function plain(parts: LocalQueue): string {
  return parts.map(({ text }) => text).join('');
}
