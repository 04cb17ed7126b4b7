/** Tables for standard output. */
import Table from 'cli-table3';
import { colors } from './output.js';

const NO_BORDERS = Object.fromEntries(
  ['top', 'bottom', 'left', 'mid', 'right']
    .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .concat('middle')
    .map((name) => [name, '']),
);

/** A table without borders: a line of heads, and a line for each row. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const { dim } = colors();
  const drawn = new Table({
    head: head.map((text) => dim(text)),
    chars: { ...NO_BORDERS, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  drawn.push(...rows.map((row) => [...row]));
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
