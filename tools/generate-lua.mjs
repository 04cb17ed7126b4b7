/**
 * Writes the Lua scripts into a TypeScript module, because a package cannot count on reading its
 * own files: bundlers move code, not data. The build calls it; the module is not in git.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { loadScript, scriptPaths } from './lua.mjs';

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const REDIS = '../packages/holdfast/src/store/redis';
const FOLDER = here(`${REDIS}/scripts`);
const TARGET = here(`${REDIS}/generated/scripts.ts`);

const HEAD = `// Made by tools/generate-lua.mjs from ../scripts. Do not edit; run \`npm run build\`.

/** A Lua script as the server gets it. */
export interface Script {
  readonly name: string;
  /** SHA-1 of \`source\`. */
  readonly sha: string;
  readonly source: string;
  readonly keys: readonly string[];
  /** If the last name ends in \`...\`, it stands for any number of arguments. */
  readonly args: readonly string[];
}
`;

/**
 * The module that holds some scripts.
 * @param {readonly import('./lua.mjs').Script[]} scripts
 * @returns {string}
 */
export function moduleOf(scripts) {
  const entries = scripts.map((script) =>
    [
      `  ${script.name}: {`,
      `    name: ${quote(script.name)},`,
      `    sha: ${quote(script.sha)},`,
      `    keys: [${script.keys.map(quote).join(', ')}],`,
      `    args: [`,
      ...script.args.map((name) => `      ${quote(name)},`),
      '    ],',
      // Widened: the declarations would otherwise repeat every script as a type.
      `    source: \`${script.source.replace(/[\\`]|\$\{/g, '\\$&')}\` as string,`,
      '  },\n',
    ].join('\n'),
  );
  // No `satisfies`: isolated declarations refuse it. The programs that use a script check its type.
  return `${HEAD}\nexport const scripts = {\n${entries.join('')}} as const;\n`;
}

/** @param {string} text */
function quote(text) {
  return `'${text}'`;
}

function main() {
  const paths = existsSync(FOLDER) ? scriptPaths(FOLDER) : [];
  const wanted = moduleOf(paths.map((path) => loadScript(path)));
  const found = existsSync(TARGET) ? readFileSync(TARGET, 'utf8') : '';
  const name = relative(here('..'), TARGET);
  if (wanted === found) {
    console.log(`${name} is current (${paths.length} scripts)`);
  } else {
    mkdirSync(dirname(TARGET), { recursive: true });
    // Untouched when it is current, so that the compiler's own check of what changed works.
    writeFileSync(TARGET, wanted);
    console.log(`${name} written (${paths.length} scripts)`);
  }
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) main();
