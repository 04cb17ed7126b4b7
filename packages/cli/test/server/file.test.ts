/** Commands with locks in a file of SQLite, without a server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { paced } from 'holdfast-testkit';
import { afterAll, describe, expect, it } from 'vitest';
import { cli } from '../cli.js';
import { everyCommand } from '../every-command.js';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
const url = `sqlite:${join(folder, 'locks.db')}`;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a command under a lock in a file', () => {
  it('is used by every command', { timeout: paced(60_000) }, () => everyCommand(url));

  it('is not run if the file cannot be used', async () => {
    const run = (...args: string[]): ReturnType<typeof cli> =>
      cli(['run', 'k', ...args, '--', 'echo', 'ran']);
    const missing = await run('--url', `sqlite:${join(folder, 'none', 'locks.db')}`);
    expect(missing).toMatchObject({ code: 69, stdout: '' });
    expect(missing.stderr).toContain('create the folder');
    expect(await run('--url', 'sqlite:')).toMatchObject({ code: 64, stdout: '' });
    expect(await run('--url', url, '--table', 't')).toMatchObject({ code: 64, stdout: '' });
  });
});
