/** Commands with locks on etcd. */
import { startEtcd } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { Cli, cli } from '../cli.js';

it('runs under a lock, is shown, keeps others out, and lets the next one run', async () => {
  await using cluster = await startEtcd({ members: 3 });
  const hosts = cluster.endpoints.map((one) => one.replace('http://', '')).join(',');
  const url = `etcd://${hosts}`;
  await using running = new Cli(['run', 'job', '--url', url, '--', 'cat']);
  const look = (): ReturnType<typeof cli> => cli(['ls', '--url', url, '--json']);
  await expect.poll(async () => (await look()).stdout, { timeout: 20_000 }).toContain('"job"');
  const busy = await cli(['run', 'job', '-n', '--url', url, '--', 'echo', 'ran']);
  expect(busy).toMatchObject({ code: 75, stdout: '' });
  expect((await cli(['doctor', '--url', url])).code).toBe(0);
  const next = cli(['run', 'job', '--url', url, '--', 'echo', 'ran']);
  running.endInput();
  expect(await running.exited).toMatchObject({ code: 0 });
  expect(await next).toMatchObject({ code: 0, stdout: 'ran\n' });
}, 60_000);

it('says what is wrong with a URL, and never its password', async () => {
  const run = (url: string, ...more: string[]): ReturnType<typeof cli> =>
    cli(['run', 'k', '--url', url, ...more, '--', 'echo', 'ran']);
  for (const url of ['etcd://', 'etcd://a/b', 'etcd://a,,b', 'etcd://%:x@a']) {
    expect(await run(url), url).toMatchObject({ code: 64, stdout: '' });
  }
  expect(await run('etcd://a', '--table', 't')).toMatchObject({ code: 64, stdout: '' });
  const gone = await run('etcd://user:hidden@127.0.0.1:9', '--wait', '1s');
  expect(gone).toMatchObject({ code: 69, stdout: '' });
  expect(gone.stderr).toContain('127.0.0.1:9');
  expect(gone.stderr).not.toContain('hidden');
}, 60_000);
