/** A guard process that is gone before the command starts. */
import { afterEach, expect, it } from 'vitest';
import { GuardedCommand } from '../../src/child/guarded-command.js';
import { now } from '../../src/child/protocol.js';

const { execPath } = process;
const setPath = (value: string): unknown => Object.defineProperty(process, 'execPath', { value });
afterEach(() => void setPath(execPath));

it.each([
  ['has died', '/bin/true', 'died'],
  ['could not be spawned', '/nonexistent/node', 'could not be started'],
])('a guard that %s fails the start', async (_, path, text) => {
  setPath(path);
  const command = new GuardedCommand();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const times = { killAfter: 1000, margin: 1000, until: now() + 60_000 };
  const started = command.start({ file: 'true', args: [], env: {}, ...times, nested: false });
  await expect(started).rejects.toMatchObject({
    exitCode: 71,
    message: expect.stringContaining(text),
  });
});
