/** Tables for standard output. */
import stringWidth from 'string-width';
import { colors } from './output.js';

/** A table without borders: a line of heads, and a line for each row. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const { dim } = colors();
  const lines = [head.map((text) => dim(text)), ...rows];
  const widths = lines.map((line) => line.map((cell) => stringWidth(cell)));
  const most = head.map((_, at) => widths.reduce((max, line) => Math.max(max, line[at] ?? 0), 0));
  const padded = (line: readonly string[], of: number): string =>
    line.map((cell, at) => cell + ' '.repeat((most[at] ?? 0) - (widths[of]?.[at] ?? 0))).join('  ');
  return lines.map((line, of) => padded(line, of).trimEnd()).join('\n');
}
