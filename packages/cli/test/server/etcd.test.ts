/** Commands with locks on etcd. */
import { paced, startEtcd } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { answered, cli } from '../cli.js';
import { everyCommand } from '../every-command.js';

it('is used by every command, and tells who may not use it', {
  timeout: paced(60_000),
}, async () => {
  await using cluster = await startEtcd({ members: 3 });
  const hosts = cluster.endpoints.map((one) => one.replace('http://', '')).join(',');
  const url = `etcd://${hosts}`;
  await everyCommand(url);

  const ask = async (path: string, body: object): Promise<void> => {
    const init = { method: 'POST', body: JSON.stringify(body) };
    expect((await fetch(`${cluster.endpoints[0]}/v3/auth/${path}`, init)).status).toBe(200);
  };
  await ask('user/add', { name: 'root', password: 'secret' });
  await ask('user/grant', { user: 'root', role: 'root' });
  await ask('user/add', { name: 'stranger', password: 'secret' });
  await ask('enable', {});
  const denied = async (one: string): Promise<string> => {
    const seen = await answered(['ls', '--url', one]);
    expect(seen).toMatchObject({ code: 77, stdout: '' });
    return seen.stderr;
  };
  const [none, wrong, few] = await Promise.all(
    ['', 'root:p4ss@', 'stranger:secret@'].map((login) => denied(`etcd://${login}${hosts}`)),
  );
  expect(none).toContain('user name is empty');
  expect(wrong).toContain('authentication failed');
  expect(wrong).not.toContain('p4ss');
  expect(few).toContain('the user needs to read and write');
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
