/** The URL of a cluster. */
import { type Cluster, freePorts, startCluster } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli, MAIN } from '../cli.js';

let cluster: Cluster;
let url: string;
beforeAll(async () => {
  cluster = await startCluster({ server: 'redis' });
  url = `redis+cluster://${cluster.nodes.map(({ host, port }) => `${host}:${port}`).join(',')}`;
});
afterAll(() => cluster.stop());

describe('a cluster', () => {
  it('runs commands under locks of all masters, which ls lists', async () => {
    const env = { REDIS_URL: url };
    const inner = 'node "$MAIN" ls --json | wc -l';
    const nested = ['a', 'b'].reduceRight<string[]>(
      (words, key) => [process.execPath, MAIN, 'run', key, '--', ...words],
      ['sh', '-c', inner],
    );
    const result = await cli(nested.slice(2), { env: { ...env, MAIN } });
    expect(result).toEqual({ code: 0, stdout: expect.stringMatching(/^\s*2\n$/), stderr: '' });
    const uses = await Promise.all(
      cluster.masters.map(async (one) => (await one.commandstats()).get('evalsha')?.calls ?? 0),
    );
    expect(uses.filter((calls) => calls > 0).length).toBeGreaterThan(1);
  });

  it('is examined by doctor, each master', async () => {
    const { stdout } = await cli(['doctor', '--url', url, '--json']);
    const { servers } = JSON.parse(stdout) as { servers: { address: string }[] };
    expect(servers).toHaveLength(3);
  });

  it('may be named by some of its nodes', async () => {
    const [node] = cluster.nodes;
    const one = `redis+cluster://127.0.0.1:${node?.port}`;
    expect(await cli(['inspect', 'free', '--url', one])).toMatchObject({
      stdout: 'free is free\n',
    });
  });

  it('that is down leads to 69; a wrong password to 77, and is not shown', async () => {
    const ports = await freePorts(2);
    const down = `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;
    const failed = await cli(['ls', '--url', down]);
    expect(failed).toMatchObject({ code: 69, stdout: '' });
    expect(failed.stderr).toContain(`the cluster of 127.0.0.1:${ports[0]},`);
    const login = url.replace('://', '://unknown:p4ss@');
    const denied = await cli(['ls', '--url', login]);
    expect(denied).toMatchObject({ code: 77, stdout: '' });
    expect(denied.stderr).not.toContain('p4ss');
  });

  it('is no member of a quorum, and has no database', async () => {
    const args = ['ls', '--url', url, '--url', url, '--url', url];
    const several = await cli(args);
    expect(several).toMatchObject({ code: 64, stdout: '' });
    expect(several.stderr).toContain('a cluster cannot be a member of a quorum');
    expect(await cli(['ls', '--url', `${url}/1`])).toMatchObject({ code: 64, stdout: '' });
  });
});
