/**
 * A lock file, so that one process at a time does a piece of work. Two at once would waste time but
 * do no harm, because a rename puts the result in place. A lock of a dead process is therefore
 * simply deleted.
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

// a link appears together with its content, so no process sees a lock file without its owner
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
    // ENOENT: the lock was removed meanwhile, and the next attempt will take it. EPERM: the process
    // belongs to another user and is alive.
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
