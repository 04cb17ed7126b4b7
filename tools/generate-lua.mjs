/**
 * Writes the Lua scripts into two TypeScript modules, because a package cannot rely on reading its
 * own files: bundlers move code, not data. One module has the names and the hashes, the other
 * the texts, each part once. The build runs this tool; the modules are not in git.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { around, loadScript, pieces, scriptPaths } from './lua.mjs';
import { shorten } from './lua-shorten.mjs';

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const REDIS = '../packages/holdfast/src/store/redis';
const FOLDER = here(`${REDIS}/scripts`);
const TARGET = here(`${REDIS}/generated`);

const HEAD = '// Made by tools/generate-lua.mjs from ../scripts. Do not edit; run `npm run build`.';

/** @typedef {{ name: string, parts: { file: string, text: string }[] }} Assembled */

/**
 * @param {readonly string[]} paths
 * @param {boolean} readable names and spaces stay
 * @returns {Assembled[]}
 */
function assemble(paths, readable) {
  const all = paths.map((path) => pieces(path));
  const scripts = readable ? all : shorten(all);
  return paths.map((path, at) => ({
    name: loadScript(path).name,
    parts: [...(scripts[at] ?? [])],
  }));
}

/**
 * The sources of both modules, by the names of their files.
 * @param {readonly string[]} paths
 * @returns {Record<'scripts.ts' | 'script-texts.ts', string>}
 */
export function modulesOf(paths) {
  const scripts = assemble(paths, false);
  const proof = paths[0] === undefined ? ['', ''] : around(dirname(paths[0]));
  return { 'scripts.ts': hashesOf(scripts, proof), 'script-texts.ts': textsOf(scripts) };
}

/**
 * @param {readonly Assembled[]} scripts
 * @param {readonly string[]} proof
 */
function hashesOf(scripts, proof) {
  const type = scripts.map(({ name }) => `'${name}'`).join(' | ');
  const list = scripts.map(({ name, parts }) => {
    const text = parts.map((part) => part.text).join('');
    return `  ${name}: new Script('${name}', '${createHash('sha1').update(text).digest('hex')}'),`;
  });
  const imports = "import { Script } from '../script.js';\n";
  const head = `export const scripts: Readonly<Record<${type}, Script>> = {`;
  const texts = proof.map((text) => `  ${JSON.stringify(text)},`);
  const tail = ['};', '', 'export const PROOF: readonly [string, string] = [', ...texts, '];'];
  return `${[HEAD, imports, head, ...list, ...tail].join('\n')}\n`;
}

/** @param {readonly Assembled[]} scripts */
function textsOf(scripts) {
  /** @type {Map<string, string>} */
  const names = new Map();
  const list = scripts.map(({ name, parts }) => {
    const used = parts.map(({ file, text }) => {
      const known = names.get(text) ?? nameFor(file, names);
      names.set(text, known);
      return known;
    });
    return `  ${name}: [${used.join(', ')}],`;
  });
  const texts = [...names].map(([text, name]) => {
    // Typed as string: otherwise the declarations would repeat every text as a literal type.
    return `const ${name}: string = \`${text.replace(/[\\`]|\$\{/g, '\\$&')}\`;`;
  });
  const type = scripts.map(({ name }) => `'${name}'`).join(' | ');
  const head = `export const parts: Readonly<Record<${type}, readonly string[]>> = {`;
  return `${[HEAD, ...texts, '', head, ...list].join('\n')}\n};\n`;
}

/**
 * Both modules as JavaScript for mutants of scripts, by the names of their files: the texts have
 * the names and spaces of the sources, and the hashes are those of the texts as they are when the
 * modules are loaded.
 * @param {string} folder
 * @returns {Record<'scripts.js' | 'script-texts.js', string>}
 */
export function mutableModules(folder) {
  const texts = textsOf(assemble(scriptPaths(folder), true));
  return {
    'script-texts.js': texts.replace(/^((?:export )?const \w+): [^=]+ =/gm, '$1 ='),
    'scripts.js': `import { createHash } from 'node:crypto';
import { parts } from './script-texts.js';
import { Script } from '../script.js';

const hash = (list) => createHash('sha1').update(list.join('')).digest('hex');
const entries = Object.entries(parts).map(([name, list]) => [name, new Script(name, hash(list))]);
export const scripts = Object.fromEntries(entries);
export const PROOF = ${JSON.stringify(around(folder))};
`,
  };
}

/**
 * The next free name for a part of a file: `lib/clock.lua` becomes `clock1`.
 * @param {string} file
 * @param {ReadonlyMap<string, string>} names
 */
function nameFor(file, names) {
  const base = basename(file, '.lua').replace(/\W/g, '_');
  const taken = new Set(names.values());
  for (let count = 1; ; count++) if (!taken.has(`${base}${count}`)) return `${base}${count}`;
}

function main() {
  const paths = existsSync(FOLDER) ? scriptPaths(FOLDER) : [];
  mkdirSync(TARGET, { recursive: true });
  for (const [file, wanted] of Object.entries(modulesOf(paths))) {
    const path = join(TARGET, file);
    const found = existsSync(path) ? readFileSync(path, 'utf8') : '';
    // Written only on a change, so that the compiler's incremental build stays valid.
    if (wanted !== found) writeFileSync(path, wanted);
    const state = wanted === found ? 'is current' : 'written';
    console.log(`${relative(here('..'), path)} ${state} (${paths.length} scripts)`);
  }
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) main();
