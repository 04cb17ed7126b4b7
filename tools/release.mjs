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
import { buildCompanion } from './companion.mjs';

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
const others = ['dashboard', 'otel', 'postgres', 'sqlite', 'etcd', 'cli'];
for (const name of others) {
  const problem = problemOf(read(join(packages, name, 'package.json')));
  if (problem === undefined) continue;
  console.error(`No release: ${problem}`);
  process.exit(1);
}
console.log(first.stdout.trim());
for (const name of others) console.log(await pack(name));

/**
 * Why a package cannot be released; `undefined` if it can: all packages have one version, and name
 * the others with it. A package whose user installs holdfast allows its later versions too.
 * @param {Record<string, any>} manifest
 */
function problemOf({ name, version: other, dependencies, peerDependencies }) {
  if (other !== version) return `${name} has version ${other}, and holdfast ${version}`;
  /** @type {(one: [string, any]) => boolean} */
  const isOurs = ([each]) => /^holdfast\b/.test(each);
  const wrong =
    Object.entries({ ...dependencies }).find((one) => isOurs(one) && one[1] !== version) ??
    Object.entries({ ...peerDependencies }).find((one) => isOurs(one) && one[1] !== `^${version}`);
  return wrong && `${name} names ${wrong.join(' ')}, and holdfast has version ${version}`;
}

/**
 * @param {string} name the folder of the package
 * @returns {Promise<string>} the path of the tarball
 */
async function pack(name) {
  const [from, to] = [join(packages, name), join(folder, name)];
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const manifest = name === 'cli' ? copyProgram(from, to) : await buildCompanion(from, to);
  for (const file of ['README.md', 'LICENSE']) cpSync(join(from, file), join(to, file));
  const address = { repository: { ...repository, directory: `packages/${name}` }, homepage, bugs };
  const text = JSON.stringify(withAddress(manifest, address), null, 2);
  writeFileSync(join(to, 'package.json'), `${text}\n`);
  const words = ['pack', '--json', '--pack-destination', folder];
  const [{ filename }] = JSON.parse(execFileSync('npm', words, { cwd: to, encoding: 'utf8' }));
  return join(folder, filename);
}

/**
 * Copies a program as it was built. Returns its manifest.
 * @param {string} from
 * @param {string} to
 */
function copyProgram(from, to) {
  const { devDependencies: _, ...kept } = read(join(from, 'package.json'));
  for (const file of kept.files.filter((/** @type {string} */ one) => !one.startsWith('!'))) {
    if (!existsSync(join(from, file))) throw new Error(`${join(from, file)} is missing: build it`);
    cpSync(join(from, file), join(to, file), { recursive: true });
  }
  return kept;
}
