/**
 * Builds the folder of a companion package (`holdfast-otel`, `holdfast-dashboard`,
 * `holdfast-postgres`, `holdfast-sqlite`, `holdfast-etcd`) for both module systems, from the output
 * of the build:
 *
 *     esm/    the modules, as the compiler wrote them
 *     cjs/    the same, in one file for `require`
 *     types/  the declarations, twice: TypeScript tells the module systems apart by the file's name
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { rolldown } from 'rolldown';

/**
 * @param {string} from the folder of the package
 * @param {string} to the new folder
 * @returns {Promise<Record<string, any>>} its manifest
 */
export async function buildCompanion(from, to) {
  const dist = join(from, 'dist');
  for (const folder of ['esm', 'types']) mkdirSync(join(to, folder), { recursive: true });
  for (const name of readdirSync(dist)) {
    const path = join(dist, name);
    if (name.endsWith('.js')) cpSync(path, join(to, 'esm', name));
    if (!name.endsWith('.d.ts')) continue;
    const text = readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL.*/, '');
    writeFileSync(join(to, 'types', name), text);
    const own = text.replace(/((?:from|import\() ?'\.\/[^']+)\.js'/g, "$1.cjs'");
    writeFileSync(join(to, 'types', name.replace(/\.ts$/, '.cts')), own);
  }
  await bundle(join(dist, 'index.js'), join(to, 'cjs/index.cjs'));
  const manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  const folders = manifest.files.filter((/** @type {string} */ one) => !/^!|^dist$/.test(one));
  for (const folder of folders) cpSync(join(from, folder), join(to, folder), { recursive: true });
  const { devDependencies: _, files: __, ...kept } = manifest;
  const modules = { types: './types/index.d.ts', default: './esm/index.js' };
  const require = { types: './types/index.d.cts', default: './cjs/index.cjs' };
  const entry = { 'module-sync': modules, import: modules, require };
  return {
    ...kept,
    // for tools that do not read `exports`
    main: './cjs/index.cjs',
    types: './types/index.d.cts',
    exports: { ...manifest.exports, '.': entry, './package.json': './package.json' },
  };
}

/**
 * One file for `require`. Other packages stay outside.
 * @param {string} input
 * @param {string} file
 */
async function bundle(input, file) {
  const external = (/** @type {string} */ id) => !id.startsWith('.') && !isAbsolute(id);
  const built = await rolldown({ input, platform: 'node', external });
  await built.write({ file, format: 'cjs' });
  await built.close();
}
