/** `holdfast doctor`: the table, JSON and the exit codes. */
import { spawnSync } from 'node:child_process';
import { freePorts, type Server, startServer } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli, cli, MAIN } from '../cli.js';

const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
/** A busy machine must not look like a slow server. */
const PATIENT = ['--ttl', '2m', '--claim-window', '1m'];

let server: Server;
beforeAll(async () => {
  server = await startServer({ server: 'valkey', args: DURABLE });
});
afterAll(() => server.stop());

const doctor = (url: string, ...args: string[]): ReturnType<typeof cli> =>
  cli(['doctor', '--url', url, ...PATIENT, ...args]);

describe('doctor', () => {
  it('finds nothing on a healthy server', async () => {
    const { code, stderr, stdout } = await doctor(server.url);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^SERVER +VERSION +ROUND TRIP +CLOCK\n127.0.0.1:\d+ +valkey \S+ +\S+ms/);
    expect(stdout).toMatch(/\n\nnothing found that endangers locks\n$/);
    expect(await server.command('DBSIZE')).toBe(0);
  });

  it('prints what it has found, the worst first, and exits with 1', async () => {
    const args = ['--maxmemory-policy', 'allkeys-lru', '--maxmemory', '100mb'];
    await using bad = await startServer({ server: 'redis', args: [...DURABLE, ...args] });
    await bad.command('CONFIG', 'SET', 'appendfsync', 'everysec');
    const { code, stdout } = await doctor(bad.url);
    expect(code).toBe(1);
    const [, list = '', ...texts] = stdout.split('\n\n');
    const [head, ...rows] = list.split('\n');
    expect(head).toMatch(/^SEVERITY +CODE +SERVER +SEEN$/);
    expect(rows[0]).toMatch(/^danger +eviction +127.0.0.1:\d+ +maxmemory-policy allkeys-lru, max/);
    expect(rows[1]).toMatch(/^warning +lazy-persistence +.*appendfsync everysec$/);
    expect(texts[0]).toMatch(/^eviction: the server removes keys.*\n {2}to do: CONFIG SET maxmem/);
    expect(stdout).not.toContain('\u001b');
    await using coloured = new Cli(['doctor', '--url', bad.url], { terminal: true });
    await coloured.exited;
    expect(coloured.stdout).toContain('\u001b[31mdanger');
    const json = await doctor(bad.url, '--json');
    expect(json.code).toBe(1);
    const report = JSON.parse(json.stdout) as { findings: { code: string }[]; servers: object[] };
    expect(report.findings.map((one) => one.code)).toEqual(['eviction', 'lazy-persistence']);
    expect(report.servers).toMatchObject([{ address: `127.0.0.1:${bad.port}` }]);
    // its reader ends early
    const pipe = `node "${MAIN}" doctor --url ${bad.url} ${PATIENT.join(' ')} | true`;
    expect(spawnSync('bash', ['-o', 'pipefail', '-c', pipe]).status).toBe(1);
  });

  it('exits with 0 for notices, and with 1 with --strict', async () => {
    await using other = await startServer({
      server: 'redis',
      args: DURABLE,
      users: ['weak on >pw ~* &* +@all -config'],
    });
    const url = `redis://weak:pw@127.0.0.1:${other.port}`;
    const { code, stdout } = await doctor(url);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\nnotice +could-not-look .*NOPERM/);
    expect(stdout).toContain('+config|get');
    expect((await doctor(url, '--strict')).code).toBe(1);
  });

  it('leads to 69 without a server, and to 64 with a wrong option', async () => {
    const [port] = await freePorts(1);
    expect(await doctor(`redis://127.0.0.1:${port}`)).toMatchObject({ code: 69, stdout: '' });
    const wrong = await doctor(server.url, '--claim-window', '2h');
    expect(wrong).toMatchObject({ code: 64, stdout: '' });
    expect(wrong.stderr).toContain('claimWindow');
  });
});
