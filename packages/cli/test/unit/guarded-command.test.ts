/** A guard process that is gone before the command starts. */
import { ChildProcess } from 'node:child_process';
import { until } from 'holdfast-testkit';
import { afterEach, expect, it, vi } from 'vitest';
import { GuardedCommand } from '../../src/child/guarded-command.js';
import { now } from '../../src/child/protocol.js';

const { execPath } = process;
const setPath = (value: string): unknown => Object.defineProperty(process, 'execPath', { value });
afterEach(() => {
  setPath(execPath);
  vi.restoreAllMocks();
});

it.each([
  ['has died', '/bin/true', 'died'],
  ['could not be spawned', '/nonexistent/node', 'could not be started'],
])('a guard that %s fails the start', async (_, path, text) => {
  setPath(path);
  const emits = vi.spyOn(ChildProcess.prototype, 'emit');
  const command = new GuardedCommand();
  await until(() => emits.mock.calls.some(([name]) => /^(exit|error)$/.test(String(name))));
  const times = { killAfter: 1000, margin: 1000, until: now() + 60_000 };
  const started = command.start({ file: 'true', args: [], env: {}, ...times, nested: false });
  await expect(started).rejects.toMatchObject({
    exitCode: 71,
    message: expect.stringContaining(text),
  });
});
