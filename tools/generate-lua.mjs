/**
 * Writes the Lua scripts into a TypeScript module, because a package cannot rely on reading its own
 * files: bundlers move code, not data. The build runs this tool; the module is not in git.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, relative } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { loadScript, pieces, scriptPaths } from './lua.mjs';
import { shorten } from './lua-shorten.mjs';

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const REDIS = '../packages/holdfast/src/store/redis';
const FOLDER = here(`${REDIS}/scripts`);
const TARGET = here(`${REDIS}/generated/scripts.ts`);

const HEAD = `// Made by tools/generate-lua.mjs from ../scripts. Do not edit; run \`npm run build\`.
import { Script } from '../script.js';
`;

/**
 * The source of a module with some scripts. It contains the text of each file once; a script is the
 * list of its parts.
 * @param {readonly string[]} paths
 * @param {{ readable?: boolean }} [how] `readable`: names and spaces stay
 * @returns {string}
 */
export function moduleOf(paths, { readable = false } = {}) {
  /** @type {Map<string, string>} */
  const names = new Map();
  const all = paths.map((path) => pieces(path));
  const scripts = readable ? all : shorten(all);
  const entries = paths.map((path, at) => {
    const parts = (scripts[at] ?? []).map(({ file, text }) => {
      const known = names.get(text);
      const name = known ?? nameFor(file, names);
      if (known === undefined) names.set(text, name);
      return name;
    });
    return [loadScript(path).name, parts.join(', ')];
  });
  const texts = [...names].map(([text, name]) => {
    // Typed as string: otherwise the declarations would repeat every text as a literal type.
    return `const ${name}: string = \`${text.replace(/[\\`]|\$\{/g, '\\$&')}\`;`;
  });
  const type = entries.map(([name]) => `'${name}'`).join(' | ');
  const list = entries.map(([name, parts]) => `  ${name}: new Script([${parts}]),`);
  const head = `export const scripts: Readonly<Record<${type}, Script>> = {`;
  return `${[HEAD, ...texts, '', head, ...list].join('\n')}\n};\n`;
}

/**
 * The same module as JavaScript, with the names and spaces of the sources, for mutants of scripts.
 * @param {string} folder
 * @returns {string}
 */
export function readableModule(folder) {
  const source = moduleOf(scriptPaths(folder), { readable: true });
  return source.replace(/^((?:export )?const \w+): [^=]+ =/gm, '$1 =');
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
  const wanted = moduleOf(paths);
  const found = existsSync(TARGET) ? readFileSync(TARGET, 'utf8') : '';
  const name = relative(here('..'), TARGET);
  if (wanted === found) {
    console.log(`${name} is current (${paths.length} scripts)`);
  } else {
    mkdirSync(dirname(TARGET), { recursive: true });
    // Written only on a change, so that the compiler's incremental build stays valid.
    writeFileSync(TARGET, wanted);
    console.log(`${name} written (${paths.length} scripts)`);
  }
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) main();
