/** Standard output: colours and tables. */
import Table from 'cli-table3';
import picocolors from 'picocolors';

/** Whether standard output is a terminal. On a pipe `isTTY` is not defined. */
export function onTerminal(): boolean {
  return Boolean(process.stdout.isTTY);
}

/** Colours, on a terminal only. `NO_COLOR` switches them off. */
export function colors(): ReturnType<typeof picocolors.createColors> {
  const { NO_COLOR = '', TERM } = process.env;
  return picocolors.createColors(onTerminal() && NO_COLOR === '' && TERM !== 'dumb');
}

/** Writes a line. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Ends the program when the reader of the output ends, as in `holdfast ls | head -1`. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}

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
