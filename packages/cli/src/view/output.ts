/** Standard output. */
import picocolors from 'picocolors';
import { EXIT } from '../failure.js';

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

let hasOwnCode = false;

/** The exit code of this command says what it found, also if its reader ends early. */
export function goOnWithoutReader(): void {
  hasOwnCode = true;
}

/** Ends the program when the reader of the output ends, as in `holdfast ls | head -1`. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      process.stderr.write(`holdfast: standard output cannot be written: ${error.message}\n`);
      process.exit(EXIT.internal);
    }
    if (!hasOwnCode) process.exit(0);
  });
}
