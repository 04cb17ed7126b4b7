/**
 * Builds the folder that is published, `packages/holdfast/publish`, from the output of the build.
 *
 *     esm/    the modules that the entries reach, in a few files, with source maps
 *     cjs/    the same for `require`
 *     types/  one file with all declarations, and for each entry a file that names its exports;
 *             twice, because TypeScript tells the two module systems apart by the file's name
 *
 *   node tools/pack.mjs            the folder
 *   node tools/pack.mjs --pack     and a tarball of it, whose path is the output
 *   node tools/pack.mjs --release [--repository URL]
 *                                  a tarball that may be published: with the public address of the
 *                                  project, see address.mjs. All others are private.
 *   … --out FOLDER                 another folder, with the tarball beside it
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { parseSync } from 'oxc-parser';
import { rolldown } from 'rolldown';
import { addressOf, withAddress } from './address.mjs';
import { withLinks } from './package-links.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'packages/holdfast');
const { values: given } = parseArgs({
  options: {
    out: { type: 'string' },
    pack: { type: 'boolean' },
    release: { type: 'boolean' },
    repository: { type: 'string' },
  },
});
const out = resolve(given.out ?? join(source, 'publish'));
const dist = join(source, 'dist');

/** The entries of the package: the modules at the root of `dist`. */
const ENTRIES = [
  ...['index', 'core', 'fence', 'handover', 'memory', 'migrate', 'mutex', 'redis', 'register'],
  'register-contract',
];

/**
 * The files that entries share. A store and its clients are loaded with the first call, so they are
 * apart from the rest.
 */
const GROUPS = [
  // a file has the modules that its modules import too, if no group before it has them
  {
    name: 'common',
    test: new RegExp(
      '/dist/((base|observe|lease|acquire)/|engine/(limits|kinds|gate-messages)|' +
        'store/([\\w-]+\\.js|clients/(shape|state)))',
    ),
    priority: 4,
  },
  { name: 'memory', test: /\/dist\/(engine|store\/memory)\//, priority: 3 },
  { name: 'redis', test: /\/dist\/store\/(redis|clients)\//, priority: 2 },
  { name: 'register', test: /\/dist\/store\/register\//, priority: 2 },
  { name: 'quorum', test: /\/dist\/store\/quorum\//, priority: 1 },
];

/**
 * Bundles the entries: the modules that the same entries reach are one file, so a process reads a
 * few files and not 240. Comments stay in the declarations only. The maps name the module, the
 * function and the line of a stack trace, for `node --enable-source-maps`.
 * @param {'esm' | 'cjs'} format
 */
async function bundle(format) {
  const input = Object.fromEntries(ENTRIES.map((name) => [name, join(dist, `${name}.js`)]));
  const bundled = await rolldown({
    input,
    platform: 'node',
    external: [/^node:/],
    // all code of a store is in one file
    checks: { ineffectiveDynamicImport: false },
  });
  const ending = format === 'esm' ? 'js' : 'cjs';
  await bundled.write({
    dir: join(out, format),
    format,
    entryFileNames: `[name].${ending}`,
    chunkFileNames: `shared-[name].${ending}`,
    codeSplitting: { groups: GROUPS },
    // bundlers read annotations
    comments: { annotation: true, jsdoc: false, legal: false },
    sourcemap: true,
    sourcemapExcludeSources: true,
    sourcemapPathTransform: (path) => path.replace(/^.*\/dist\//, ''),
  });
  await bundled.close();
  for (const name of readdirSync(join(out, format))) {
    if (!name.endsWith(ending)) continue;
    const path = join(out, format, name);
    // the name of each module; the lines stay, because the maps count them
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^\/\/(#(end)?region| ).*$/gm, ''));
  }
}

/** Writes the declarations of all entries into one file, and the exports of each entry. */
async function bundleTypes() {
  const all = join(dist, 'all.d.ts');
  const lines = ENTRIES.map((entry) => `export * from './${entry}.js';\n`);
  writeFileSync(all, lines.join(''));
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: source,
      mainEntryPointFilePath: all,
      compiler: { tsconfigFilePath: join(source, 'tsconfig.json') },
      dtsRollup: { enabled: true, untrimmedFilePath: join(out, 'types/holdfast.d.ts') },
      messages: { extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } } },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(source, 'package.json'),
  });
  const quiet = { messageCallback: (/** @type {{ handled: boolean }} */ m) => (m.handled = true) };
  const { succeeded } = Extractor.invoke(config, { ...quiet, localBuild: true });
  rmSync(all);
  if (!succeeded) throw new Error('the declarations could not be bundled');
  const text = readFileSync(join(out, 'types/holdfast.d.ts'), 'utf8');
  writeFileSync(join(out, 'types/holdfast.d.cts'), text);
  for (const name of ENTRIES) {
    const list = `export {\n  ${(await exportsOf(join(dist, name))).join(',\n  ')},\n}`;
    writeFileSync(join(out, `types/${name}.d.ts`), `${list} from './holdfast.js';\n`);
    writeFileSync(join(out, `types/${name}.d.cts`), `${list} from './holdfast.cjs';\n`);
  }
}

/**
 * The names that an entry exports, for an export clause.
 * @param {string} entry the path of the module without its ending
 * @returns {Promise<string[]>}
 */
async function exportsOf(entry) {
  const values = Object.keys(await import(`${entry}.js`));
  const { module } = parseSync(`${entry}.d.ts`, readFileSync(`${entry}.d.ts`, 'utf8'));
  return module.staticExports
    .flatMap(({ entries }) => entries.map(({ exportName }) => exportName.name ?? ''))
    .map((name) => (values.includes(name) ? name : `type ${name}`));
}

/** @param {import('./address.mjs').Address | undefined} address */
function writeManifest(address) {
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  const { devDependencies: _, files: __, exports: ___, ...kept } = manifest;
  const exports = ENTRIES.map((name) => {
    const modules = { types: `./types/${name}.d.ts`, default: `./esm/${name}.js` };
    const require = { types: `./types/${name}.d.cts`, default: `./cjs/${name}.cjs` };
    // A Node that can require modules uses one copy for both module systems
    return [subpath(name), { 'module-sync': modules, import: modules, require }];
  });
  const older = ENTRIES.map((name) => [subpath(name).slice(2) || '.', [`./types/${name}.d.cts`]]);
  const published = {
    ...kept,
    // for tools that do not read `exports`
    main: './cjs/index.cjs',
    types: './types/index.d.cts',
    typesVersions: { '*': Object.fromEntries(older) },
    exports: { ...Object.fromEntries(exports), './package.json': './package.json' },
  };
  const text = JSON.stringify(withAddress(published, address), null, 2);
  writeFileSync(join(out, 'package.json'), `${text}\n`);
}

/** @param {string} name */
function subpath(name) {
  return name === 'index' ? '.' : `./${name.replace('-', '/')}`;
}

/**
 * The address of the files of this version.
 * @param {import('./address.mjs').Address | undefined} where
 */
function sourceOf(where) {
  if (where === undefined) return undefined;
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  return `${where.homepage.replace(/#.*/, '')}/blob/v${version}`;
}

/** The address of the git remote `origin`, if there is one. */
function origin() {
  try {
    const stdio = /** @type {['ignore', 'pipe', 'ignore']} */ (['ignore', 'pipe', 'ignore']);
    const args = ['remote', 'get-url', 'origin'];
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio }).trim();
  } catch {
    return undefined;
  }
}

/** @type {import('./address.mjs').Address | undefined} */
let address;
try {
  if (given.release === true) address = addressOf(given.repository, origin());
} catch (error) {
  console.error(`No release: ${/** @type {Error} */ (error).message}`);
  process.exit(1);
}

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'types'), { recursive: true });
await bundle('esm');
await bundle('cjs');
await bundleTypes();
writeManifest(address);
// errors name the first page, which leads to the two others
const PAGES = ['docs/errors.md', 'docs/operations.md', 'SECURITY.md'];
const shipped = new Set(['README.md', 'LICENSE', 'CHANGELOG.md', ...PAGES]);
for (const file of shipped) {
  const text = readFileSync(join(root, file), 'utf8');
  mkdirSync(dirname(join(out, file)), { recursive: true });
  writeFileSync(join(out, file), withLinks(text, { file, shipped, source: sourceOf(address) }));
}
if (given.pack === true || given.release === true) {
  const cache = given.out === undefined ? join(root, '.cache') : dirname(out);
  mkdirSync(cache, { recursive: true });
  const args = ['pack', '--json', '--pack-destination', cache];
  const [{ filename }] = JSON.parse(execFileSync('npm', args, { cwd: out, encoding: 'utf8' }));
  console.log(join(cache, basename(filename)));
}
