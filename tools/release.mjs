/**
 * Packs all packages that are published, in the order in which they must be published: a package
 * comes after those that it needs. Each line of the output is the path of a tarball.
 *
 *   node tools/release.mjs --repository https://HOST/PATH
 *
 * The address may come from the git remote `origin` instead, see address.mjs. Run `npm run build`
 * first.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withAddress } from './address.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, '.cache/release');
const packages = join(root, 'packages');
/** @type {(path: string) => any} */
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** Holdfast itself has a build of its own. */
const tool = join(root, 'tools/pack.mjs');
const own = join(folder, 'holdfast');
const args = [tool, '--release', '--out', own, ...process.argv.slice(2)];
const first = spawnSync(process.execPath, args, {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (first.status !== 0) process.exit(first.status ?? 1);
const { version, repository, homepage, bugs } = read(join(own, 'package.json'));

// the command line needs the dashboard
for (const name of ['dashboard', 'otel', 'cli']) {
  const problem = problemOf(read(join(packages, name, 'package.json')));
  if (problem === undefined) continue;
  console.error(`No release: ${problem}`);
  process.exit(1);
}
console.log(first.stdout.trim());
for (const name of ['dashboard', 'otel', 'cli']) console.log(pack(name));

/**
 * Why a package cannot be released; `undefined` if it can: all packages have one version, and name
 * the others with it.
 * @param {Record<string, any>} manifest
 */
function problemOf({ name, version: other, dependencies, peerDependencies }) {
  if (other !== version) return `${name} has version ${other}, and holdfast ${version}`;
  const needed = Object.entries({ ...dependencies, ...peerDependencies });
  const wrong = needed.find(([each, range]) => /^holdfast\b/.test(each) && range !== version);
  return wrong && `${name} names ${wrong.join(' ')}, and holdfast has version ${version}`;
}

/**
 * @param {string} name the folder of the package
 * @returns {string} the path of the tarball
 */
function pack(name) {
  const [from, to] = [join(packages, name), join(folder, name)];
  const manifest = read(join(from, 'package.json'));
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const shipped = manifest.files.filter((/** @type {string} */ file) => !file.startsWith('!'));
  for (const file of [...shipped, 'README.md', 'LICENSE']) {
    if (!existsSync(join(from, file))) throw new Error(`${join(from, file)} is missing: build it`);
    cpSync(join(from, file), join(to, file), { recursive: true });
  }
  const { devDependencies: _, ...kept } = manifest;
  const address = { repository: { ...repository, directory: `packages/${name}` }, homepage, bugs };
  const text = JSON.stringify(withAddress(kept, address), null, 2);
  writeFileSync(join(to, 'package.json'), `${text}\n`);
  const words = ['pack', '--json', '--pack-destination', folder];
  const [{ filename }] = JSON.parse(execFileSync('npm', words, { cwd: to, encoding: 'utf8' }));
  return join(folder, filename);
}
