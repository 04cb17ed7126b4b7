/**
 * Builds the folder that is published, `packages/holdfast/publish`, from the output of the build.
 *
 *     esm/    the modules that the entries reach, as the compiler wrote them, without comments
 *     cjs/    the same modules, bundled for `require`
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
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { parseSync } from 'oxc-parser';
import { rolldown } from 'rolldown';
import { addressOf, withAddress } from './address.mjs';

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

/** The name of each entry and its module, below `dist`. */
const ENTRIES = { index: 'index', core: 'entries/core', memory: 'entries/memory' };
Object.assign(ENTRIES, { fence: 'entries/fence', mutex: 'entries/mutex', redis: 'entries/redis' });
Object.assign(ENTRIES, { migrate: 'entries/migrate', handover: 'entries/handover' });

/**
 * The modules that the entries import, directly or not.
 * @returns {string[]}
 */
function reachable() {
  const found = new Set(Object.values(ENTRIES).map((entry) => join(dist, `${entry}.js`)));
  for (const path of found) {
    const text = readFileSync(path, 'utf8');
    const { module } = parseSync(path, text);
    const names = [
      // the name of the module is a text in quotation marks
      ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => {
        return text.slice(start + 1, end - 1);
      }),
      ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
      ...module.staticExports.flatMap(({ entries }) =>
        entries.map(({ moduleRequest }) => moduleRequest?.value),
      ),
    ];
    for (const name of names) {
      if (name?.startsWith('.')) found.add(join(dirname(path), name));
    }
  }
  return [...found];
}

function copyModules() {
  for (const path of reachable()) {
    const target = join(out, 'esm', relative(dist, path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, withoutComments(path, readFileSync(path, 'utf8')));
  }
}

async function bundleForRequire() {
  const input = Object.fromEntries(
    Object.entries(ENTRIES).map(([name, entry]) => [name, join(dist, `${entry}.js`)]),
  );
  const bundle = await rolldown({ input, platform: 'node', external: [/^node:/] });
  await bundle.write({
    dir: join(out, 'cjs'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: 'shared-[name].cjs',
  });
  await bundle.close();
  for (const name of readdirSync(join(out, 'cjs'))) {
    const path = join(out, 'cjs', name);
    writeFileSync(path, withoutComments(path, readFileSync(path, 'utf8')));
  }
}

/**
 * A module without its comments, which are a quarter of it; those in the declarations stay.
 * @param {string} path
 * @param {string} text
 */
function withoutComments(path, text) {
  let [result, from] = ['', 0];
  for (const { value, start, end } of parseSync(path, text).comments) {
    // bundlers read it
    if (/[#@]__PURE__/.test(value)) continue;
    const before = text.slice(from, start).replace(/[ \t]+$/, '');
    const alone = before.endsWith('\n') || (before === '' && result.endsWith('\n')) || start === 0;
    result += before;
    from = alone && text[end] === '\n' ? end + 1 : end;
  }
  return result + text.slice(from);
}

/** Writes the declarations of all entries into one file, and the exports of each entry. */
async function bundleTypes() {
  const all = join(dist, 'all.d.ts');
  const lines = Object.values(ENTRIES).map((entry) => `export * from './${entry}.js';\n`);
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
  for (const [name, entry] of Object.entries(ENTRIES)) {
    const list = `export {\n  ${(await exportsOf(join(dist, entry))).join(',\n  ')},\n}`;
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
  const entries = Object.keys(ENTRIES);
  const exports = entries.map((name) => {
    const modules = { types: `./types/${name}.d.ts`, default: `./esm/${pathOf(name)}.js` };
    const require = { types: `./types/${name}.d.cts`, default: `./cjs/${name}.cjs` };
    // A Node that can require modules uses one copy for both module systems
    return [subpath(name), { 'module-sync': modules, import: modules, require }];
  });
  const older = entries.map((name) => [subpath(name).slice(2) || '.', [`./types/${name}.d.cts`]]);
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
  return name === 'index' ? '.' : `./${name}`;
}

/** @param {string} name */
function pathOf(name) {
  return ENTRIES[/** @type {keyof typeof ENTRIES} */ (name)];
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
copyModules();
await bundleForRequire();
await bundleTypes();
writeManifest(address);
// errors name the first page, which leads to the two others
const PAGES = ['docs/errors.md', 'docs/operations.md', 'SECURITY.md'];
for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md', ...PAGES])
  cpSync(join(root, file), join(out, file));
if (given.pack === true || given.release === true) {
  const cache = given.out === undefined ? join(root, '.cache') : dirname(out);
  mkdirSync(cache, { recursive: true });
  const args = ['pack', '--json', '--pack-destination', cache];
  const [{ filename }] = JSON.parse(execFileSync('npm', args, { cwd: out, encoding: 'utf8' }));
  console.log(join(cache, basename(filename)));
}
