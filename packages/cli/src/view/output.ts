/** Standard output. */
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
