/**
 * A project of a user that has installed the packed package, and the tools and runtimes with which
 * it is tried. Everything comes from the package registry.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { arch, platform } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../../..', import.meta.url));
const root = fileURLToPath(new URL('../../../../.cache/packed', import.meta.url));

const node = (version: string): string => `npm:node-${platform}-${arch}@${version}`;
/** Two versions of Node that cannot require ES modules, and the later ones. */
const RUNTIMES = {
  'node-20.18': node('20.18.0'),
  'node-22.11': node('22.11.0'),
  'node-24': node('24.9.0'),
  'node-26': node('26.9.0'),
  bun: '1.4.5',
  deno: '2.9.6',
};
const TOOLS = {
  '@types/jest': '29.5.14',
  '@types/node': '20.19.43',
  esbuild: '0.28.2',
  jest: '29.7.0',
  'ts-jest': '29.4.15',
  tsx: '4.23.15',
  typescript: '5.9.3',
  vite: '8.3.8',
};

/** What a command printed. A command that fails throws, with what it printed. */
export async function command(file: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run(file, [...args], { cwd: root, timeout: 300_000 });
    return stdout;
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string };
    throw new Error(`${message}\n${stdout}`, { cause: error });
  }
}

/** The path of a tool or a runtime of the project. */
export function tool(name: string): string {
  const own = name.startsWith('node-') ? `node_modules/${name}/bin/node` : '';
  return `${root}/${own === '' ? `node_modules/.bin/${name}` : own}`;
}

export function write(file: string, text: string): void {
  writeFileSync(`${root}/${file}`, text);
}

/** The files of the installed package: their names in it, and their paths. */
export function installed(): Map<string, string> {
  const folder = `${root}/node_modules/holdfast`;
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    found
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [path.slice(folder.length + 1), path]),
  );
}

/** Packs the package, installs it with the tools and runtimes, and copies the programs. */
export async function installProject(): Promise<void> {
  mkdirSync(root, { recursive: true });
  // other checks read the folder that the tool makes without `--out`
  const out = `${repository}/.cache/packed-tarball/holdfast`;
  const pack = [`${repository}/tools/pack.mjs`, '--pack', '--out', out];
  const tarball = (await command(process.execPath, pack)).trim();
  const dependencies = { holdfast: `file:${tarball}`, ...RUNTIMES, ...TOOLS };
  write('package.json', JSON.stringify({ private: true, dependencies }));
  const install = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--prefer-offline'];
  if (existsSync(`${root}/node_modules/holdfast`)) {
    // an earlier package of the same version would stay
    await command('npm', ['uninstall', 'holdfast', ...install.slice(1)]);
    write('package.json', JSON.stringify({ private: true, dependencies }));
  }
  await command('npm', install);
  cpSync(fileURLToPath(new URL('programs', import.meta.url)), root, { recursive: true });
}
