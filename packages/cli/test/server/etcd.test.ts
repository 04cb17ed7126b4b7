/** Commands with locks on etcd. */
import { paced, startEtcd } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { cli } from '../cli.js';
import { runsInTurn } from '../runs-in-turn.js';

it('runs under a lock, is shown, keeps others out, and lets the next one run', {
  timeout: paced(60_000),
}, async () => {
  await using cluster = await startEtcd({ members: 3 });
  const hosts = cluster.endpoints.map((one) => one.replace('http://', '')).join(',');
  const url = `etcd://${hosts}`;
  await runsInTurn(url);
});

it('says what is wrong with a URL, and never its password', {
  timeout: paced(60_000),
}, async () => {
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
});
