/** The connections of a server. */
import type { Server } from 'holdfast-testkit';

/** A line for each connection, without that of the test itself. */
export async function clientList(server: Server): Promise<string[]> {
  const lines = String(await server.command('CLIENT', 'LIST'));
  return lines
    .trim()
    .split('\n')
    .filter((line) => !line.includes(' cmd=client|list '));
}
