/** Counts the commands that this process sends, while counting is on. */
import { Socket } from 'node:net';

/** The head of a command: an array of bulk strings. */
const HEAD = /\*\d+\r\n\$\d+\r\n/g;

let counting = false;
let commands = 0;

// oxlint-disable-next-line typescript/unbound-method
const { write } = Socket.prototype;

/** To be called before the first client connects. */
export function watchTraffic(): void {
  Socket.prototype.write = function (this: Socket, ...words: unknown[]): boolean {
    const [chunk] = words;
    if (counting) {
      const text =
        typeof chunk === 'string' ? chunk : Buffer.from(chunk as Buffer).toString('latin1');
      commands += text.match(HEAD)?.length ?? 0;
    }
    return write.apply(this, words as Parameters<typeof write>);
  };
}

export function countCommands(on: boolean): void {
  counting = on;
  commands = 0;
}

export const sentCommands = (): number => commands;
