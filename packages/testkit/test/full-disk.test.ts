/** A disk without space: files that exist keep their place, and none grows. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { makeFullDisk } from '../src/index.js';

const run = promisify(execFile);

it('refuses what would make a file of the folder longer, until there is space', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-disk-'));
  const disk = await makeFullDisk(folder);
  // without a C compiler there is no such disk
  if (disk === undefined) {
    await expect(run('cc', ['--version'])).rejects.toThrow();
    return;
  }
  const env = { ...process.env, ...disk.env };
  const file = join(folder, 'file');
  const elsewhere = `${folder}-elsewhere`;
  const write = (text: string, to: string, at: number): Promise<unknown> => {
    const place = `of=${to} bs=1 seek=${at} conv=notrunc`;
    return run('sh', ['-c', `printf %s ${text} | dd ${place}`], { env });
  };
  writeFileSync(file, 'o'.repeat(4096));
  disk.fill(true);
  await expect(write('more', file, 4096)).rejects.toThrow(/space/);
  await write('new', file, 0);
  await write('more', elsewhere, 0);
  disk.fill(false);
  await write('more', file, 4096);
  const text = readFileSync(file, 'utf8');
  expect(text.length).toBe(4100);
  expect(text.slice(0, 4)).toBe('newo');
  rmSync(elsewhere);
  rmSync(folder, { recursive: true });
});
