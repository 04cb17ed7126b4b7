/** Commands under one lock, on any store. */
import { paced } from 'holdfast-testkit';
import { expect } from 'vitest';
import { answered, Cli, cli } from './cli.js';

/** A command is shown while it runs, keeps another one out, and the next one runs after it. */
export async function runsInTurn(url: string): Promise<void> {
  await using running = new Cli(['run', 'job', '--url', url, '--', 'cat']);
  const look = (): ReturnType<typeof cli> => cli(['ls', '--url', url, '--json']);
  await expect
    .poll(async () => (await look()).stdout, { timeout: paced(20_000) })
    .toContain('"job"');
  const busy = await answered(['run', 'job', '-n', '--url', url, '--', 'echo', 'ran']);
  expect(busy).toMatchObject({ code: 75, stdout: '' });
  expect((await answered(['doctor', '--url', url])).code).toBe(0);
  const next = answered(['run', 'job', '--url', url, '--', 'echo', 'ran']);
  running.endInput();
  expect(await running.exited).toMatchObject({ code: 0 });
  expect(await next).toMatchObject({ code: 0, stdout: 'ran\n' });
}
