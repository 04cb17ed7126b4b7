/**
 * Free ports of the loopback interface. They are below the range from which a system takes the
 * ports of outgoing connections (from 32,768 on with Linux, from 49,152 on elsewhere), so no
 * connection takes the port of a server that is about to start, or to start again.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

export const HOST = '127.0.0.1';

const LOWEST = 10_000;
const END = 32_768;

/** The ports that this process has given away. Their servers may be stopped, and start again. */
const given = new Set<number>();

/** Different ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = randomInt(LOWEST, END);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const listener = createServer();
    listener.once('error', () => resolve(false));
    listener.listen(port, HOST, () => listener.close(() => resolve(true)));
  });
}
