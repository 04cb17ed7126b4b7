/** A server that takes its time to load what it has saved, and says LOADING meanwhile. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from 'holdfast-testkit';

/** What one command of the log takes, with its pause as short as the server can make it. */
const PAUSE_MS = 0.2;
/** About the size of one command in the log. */
const COMMAND_BYTES = 90;

/** Where the server keeps its log of commands. */
export function logFolder({ folder }: Server): string {
  return join(folder, 'appendonlydir');
}

/** Arguments with which its next start takes about `ms`. */
export async function slowly(server: Server, ms: number): Promise<string[]> {
  // it answers between two pieces of what it loads; by default they are of 2 MB
  const pieces = ['--loading-process-events-interval-bytes', '1024'];
  const folder = logFolder(server);
  const size = readdirSync(folder).reduce(
    (sum, file) => sum + statSync(join(folder, file)).size,
    0,
  );
  const commands = size / COMMAND_BYTES + 1;
  const pauses = ms / PAUSE_MS;
  // a positive delay is microseconds for each command, a negative one a pause in every so many
  const delay = commands < pauses ? (ms / commands - PAUSE_MS) * 1000 : -commands / pauses;
  const rounded = delay < 0 ? Math.floor(delay) : Math.max(1, Math.round(delay));
  return [...pieces, '--key-load-delay', `${rounded}`];
}
