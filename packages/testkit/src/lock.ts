/**
 * One process at a time does a piece of work, by a lock file. Two at once would only be wasteful,
 * not wrong (what is made is put in place by a rename), so a lock whose owner is dead is simply
 * taken away.
 */
import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { sleep } from './wait.js';

const STALE_MS = 6 * 60_000;

/** Runs `work` while this process holds the lock file `path`. */
export async function withLock(
  path: string,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  while (!take(path)) {
    signal.throwIfAborted();
    if (abandoned(path)) rmSync(path, { force: true });
    else await sleep(100);
  }
  try {
    await work();
  } finally {
    rmSync(path, { force: true });
  }
}

// a link appears with its content: a lock file without its owner is never seen
function take(path: string): boolean {
  const own = `${path}.${randomUUID()}`;
  writeFileSync(own, String(process.pid));
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

function abandoned(path: string): boolean {
  try {
    const age = Date.now() - statSync(path).mtimeMs;
    if (age > STALE_MS) return true;
    process.kill(Number(readFileSync(path, 'utf8')), 0);
    return false;
  } catch (error) {
    // gone in the meantime (ENOENT) is for the next attempt to see; another user's process (EPERM)
    // lives
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
