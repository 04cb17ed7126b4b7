/** Makes a server load its data slowly; it answers LOADING meanwhile. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from 'holdfast-testkit';

/** Load time of one command of the log with the shortest pause that the server can make. */
const PAUSE_MS = 0.2;
/** Approximate size of one command in the log. */
const COMMAND_BYTES = 90;

/** The folder of the append-only file. */
export function logFolder({ folder }: Server): string {
  return join(folder, 'appendonlydir');
}

/** Arguments with which the next start of the server takes about `ms`. */
export async function slowly(server: Server, ms: number): Promise<string[]> {
  // the server answers between two pieces of the data; a piece has 2 MB by default
  const pieces = ['--loading-process-events-interval-bytes', '1024'];
  const folder = logFolder(server);
  const size = readdirSync(folder).reduce(
    (sum, file) => sum + statSync(join(folder, file)).size,
    0,
  );
  const commands = size / COMMAND_BYTES + 1;
  const pauses = ms / PAUSE_MS;
  // a positive delay: microseconds for each command; a negative one: one pause in -n commands
  const delay = commands < pauses ? (ms / commands - PAUSE_MS) * 1000 : -commands / pauses;
  const rounded = delay < 0 ? Math.floor(delay) : Math.max(1, Math.round(delay));
  return [...pieces, '--key-load-delay', `${rounded}`];
}
