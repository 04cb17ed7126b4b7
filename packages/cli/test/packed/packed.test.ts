/** The package as it is published: installed from its tarball, and started by name and by `npx`. */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { paced, type Server, startServer } from 'holdfast-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

const repository = fileURLToPath(new URL('../../../..', import.meta.url));
const root = `${repository}/.cache/packed-cli`;
/** The oldest Node that is supported, in practice. */
const OLD_NODE = `npm:node-${process.platform}-${process.arch}@20.18.0`;

let server: Server;

async function run(file: string, args: readonly string[], cwd = root): Promise<string> {
  // as for a user: `npm test` lets other programs load the folder `publish` of the repository
  const env = { ...process.env, REDIS_URL: server.url, NODE_OPTIONS: '' };
  const { stdout } = await promisify(execFile)(file, [...args], { cwd, env, timeout: 300_000 });
  return stdout;
}

async function pack(folder: string): Promise<string> {
  const args = ['pack', '--json', '--pack-destination', root];
  const [{ filename }] = JSON.parse(await run('npm', args, `${repository}/packages/${folder}`));
  return `file:${root}/${filename}`;
}

beforeAll(async () => {
  server = await startServer({ server: 'redis' });
  mkdirSync(root, { recursive: true });
  // packages of the same version from an earlier run would stay
  rmSync(`${root}/node_modules/holdfast`, { recursive: true, force: true });
  rmSync(`${root}/node_modules/holdfast-cli`, { recursive: true, force: true });
  rmSync(`${root}/node_modules/holdfast-dashboard`, { recursive: true, force: true });
  rmSync(`${root}/node_modules/.package-lock.json`, { force: true });
  const [holdfast, own] = [await pack('holdfast'), await pack('cli')];
  const dashboard = await pack('dashboard');
  const all = { 'holdfast-cli': own, 'holdfast-dashboard': dashboard, holdfast };
  const dependencies = { ...all, node: OLD_NODE };
  writeFileSync(`${root}/package.json`, JSON.stringify({ private: true, dependencies }));
  const install = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--prefer-offline'];
  await run('npm', install);
}, 600_000);
afterAll(() => server.stop());

const LIMIT = { timeout: paced(120_000) };
const COMMAND = ['run', 'packed', '--', 'sh', '-c', 'echo $HOLDFAST_KEY'];

it('has no sources, maps or build records', () => {
  const files = readdirSync(`${root}/node_modules/holdfast-cli`, { recursive: true }).map(String);
  expect(files).toContain('dist/child/guard-main.js');
  expect(files.filter((file) => /\.map$|tsbuildinfo|^src|^test/.test(file))).toEqual([]);
});

it('is started by npx with the name of the package', LIMIT, async () => {
  expect(await run('npx', ['holdfast-cli', ...COMMAND])).toBe('packed\n');
});

it('is started by its own name', LIMIT, async () => {
  expect(await run('npx', ['holdfast', ...COMMAND])).toBe('packed\n');
});

it('runs on Node 20.18', LIMIT, async () => {
  const node = `${root}/node_modules/node/bin/node`;
  const main = `${root}/node_modules/holdfast-cli/dist/main.js`;
  expect(await run(node, [main, ...COMMAND])).toBe('packed\n');
  expect(await run(node, [main, 'ls'])).toBe('no lock is in use\n');
  expect(await run(node, [main, 'watch', '--count', '1'])).toContain('no lock is in use\n');
});
