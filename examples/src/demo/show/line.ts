/** Lines of styled text, and how they become characters for a terminal. */
import { styleText } from 'node:util';

export type Style = 'plain' | 'dim' | 'bold' | 'green' | 'red' | 'yellow' | 'cyan';

export interface Part {
  readonly text: string;
  readonly style: Style;
}

export type Line = readonly Part[];

export function line(...parts: (string | Part)[]): Line {
  return parts.map((part) => (typeof part === 'string' ? styled('plain', part) : part));
}

export function styled(style: Style, text: string): Part {
  return { text, style };
}

/** The line with its colours, cut to the width. */
export function paint(parts: Line, width: number): string {
  let room = width;
  let text = '';
  for (const part of parts) {
    // all signs of the demo are one unit of text and one column each
    const cut = part.text.slice(0, room);
    room -= cut.length;
    text += part.style === 'plain' || cut === '' ? cut : styleText(part.style, cut);
  }
  return text;
}

/** The line without colours. */
export function plain(parts: Line): string {
  return parts.map(({ text }) => text).join('');
}
