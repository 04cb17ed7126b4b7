/**
 * A folder whose disk can be without space, for programs that preload a small library. Needs a C
 * compiler; without one, it is not available.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { guardFolder } from './guardian.js';

const run = promisify(execFile);

const SOURCE = fileURLToPath(new URL('../native/full-disk.c', import.meta.url));

export interface FullDisk {
  /** The environment variables of a program. */
  readonly env: Readonly<Record<string, string>>;
  /** While it is full, the files in the folder do not grow. */
  fill(full: boolean): void;
}

/** Undefined if the library cannot be compiled, or if programs do not load it. */
export async function makeFullDisk(folder: string): Promise<FullDisk | undefined> {
  const own = mkdtempSync(join(tmpdir(), 'holdfast-full-disk-'));
  guardFolder(own);
  const [library, flag] = [join(own, 'full-disk.so'), join(own, 'flag')];
  const env = { LD_PRELOAD: library, FULL_DISK_FLAG: flag, FULL_DISK_FOLDER: folder };
  // in place, because the programs have mapped this file
  const fill = (full: boolean): void => writeFileSync(flag, full ? '1' : '\0', { flag: 'r+' });
  writeFileSync(flag, '\0');
  try {
    await run('cc', ['-shared', '-fPIC', '-O2', '-o', library, SOURCE]);
  } catch {
    return undefined;
  }
  fill(true);
  const probe = join(folder, 'probe');
  const words = ['if=/dev/zero', `of=${probe}`, 'bs=8192', 'count=1'];
  const isFull = await run('dd', words, { env: { ...process.env, ...env } }).then(
    () => false,
    () => true,
  );
  fill(false);
  await run('rm', ['-f', probe]);
  return isFull ? { env, fill } : undefined;
}
