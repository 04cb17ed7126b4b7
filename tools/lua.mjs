/**
 * Builds the source that is sent to the server from a Lua script of the Redis store.
 *
 * Scripts are split into shared parts and have long comments. The server stores, hashes and
 * compiles one source, so the parts are joined and the comments are removed here.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { declarations, expandFields } from './lua-fields.mjs';
import { flagLine, parseHeader } from './lua-header.mjs';

/**
 * @typedef {object} ExpandOptions
 * @property {Record<string, string>} [replace] Text that replaces a file's own text. The key of a
 *   shared part is its path in the include line (`lib/clock.lua`), of the script its file name.
 */

/**
 * @typedef {object} Script
 * @property {string} name
 * @property {string} sha SHA-1 of `source`, as the server computes it.
 * @property {string} source
 * @property {string[]} keys
 * @property {string[]} args
 */

const INCLUDE = /^\s*---\s*@include\b(.*)$/;
const INCLUDED = /^\s*"([\w./-]+\.lua)"\s*$/;

/**
 * The complete source of one script, without comments.
 * @param {string} path
 * @param {ExpandOptions} [options]
 * @returns {string}
 */
export function expand(path, options = {}) {
  return pieces(path, options)
    .map(({ text }) => text)
    .join('');
}

/**
 * A part of a script: its own text between two includes, or the text of an included file.
 * @typedef {{ readonly file: string, readonly text: string }} Piece
 */

/**
 * The file around the text of each script. Its own comment says what it does; a line `--- @script`
 * stands for the text.
 */
const AROUND = 'lib/proof.lua';
/** Declares the order of packed fields: see lua-fields.mjs. */
const FIELDS = 'lib/fields.lua';
const SCRIPT = '--- @script\n';

/**
 * The text before and after each script, without comments.
 * @param {string} folder
 * @param {Record<string, string>} [replace]
 * @returns {[string, string]}
 */
export function around(folder, replace = {}) {
  const text = textOf(folder, [AROUND], replace);
  const [before, after, ...more] = text.split(SCRIPT);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`${AROUND} has no line ${SCRIPT.trim()}, or several`);
  }
  return [stripLua(before, AROUND), stripLua(after, AROUND)];
}

/**
 * The parts of one script in order, without comments. An included file appears once, at its first
 * include.
 * @param {string} path
 * @param {ExpandOptions} [options]
 * @returns {Piece[]}
 */
export function pieces(path, options = {}) {
  const file = basename(path);
  const { [AROUND]: proof, ...replace } = options.replace ?? {};
  const parts = assemble(dirname(path), file, replace);
  const [before, after] = around(dirname(path), proof === undefined ? {} : { [AROUND]: proof });
  const declared = existsSync(join(dirname(path), FIELDS))
    ? declarations(readFileSync(join(dirname(path), FIELDS), 'utf8'))
    : new Map();
  /** @type {(part: Piece) => string} */
  const plain = (part) => expandFields(stripLua(part.text, path), declared, part.file);
  return [
    { file, text: flagLine(replace[file] ?? readFileSync(path, 'utf8')) },
    { file: AROUND, text: before },
    ...parts.map((part) => ({ file: part.file, text: plain(part) })),
    { file: AROUND, text: after },
  ].filter(({ text }) => text !== '');
}

/**
 * Loads one script, with its header and hash.
 * @param {string} path
 * @param {ExpandOptions} [options]
 * @returns {Script}
 */
export function loadScript(path, options = {}) {
  const name = basename(path, '.lua');
  const header = parseHeader(options.replace?.[`${name}.lua`] ?? readFileSync(path, 'utf8'), path);
  if (header.name !== name) {
    throw new Error(`${path}: the header describes "${header.name}", not "${name}"`);
  }
  const source = expand(path, options);
  const sha = createHash('sha1').update(source).digest('hex');
  return { name, sha, source, keys: header.keys, args: header.args };
}

/**
 * Paths of the scripts in a folder, sorted. Its sub-folders contain shared parts, not scripts.
 * @param {string} folder
 * @returns {string[]}
 */
export function scriptPaths(folder) {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .sort()
    .map((file) => join(folder, file));
}

/**
 * Joins a script and its shared parts. A part appears once, at its first include.
 * @param {string} root
 * @param {string} file
 * @param {Record<string, string>} replace
 * @returns {Piece[]}
 */
function assemble(root, file, replace) {
  const unknown = new Set(Object.keys(replace));
  /** @type {Set<string>} */
  const done = new Set();

  /** @type {(name: string, chain: string[]) => Piece[]} */
  const read = (name, chain) => {
    if (chain.includes(name)) {
      throw new Error(`include cycle: ${[...chain, name].join(' -> ')}`);
    }
    if (done.has(name)) return [];
    const here = [...chain, name];
    const text = textOf(root, here, replace);
    unknown.delete(name);
    /** @type {Piece[]} */
    const found = [];
    /** @type {string[]} */
    let own = [];
    for (const line of text.split('\n')) {
      const include = INCLUDE.exec(line);
      if (include === null) {
        own.push(line);
        continue;
      }
      const target = INCLUDED.exec(include[1] ?? '')?.[1];
      if (target === undefined) throw new Error(`${name}: not an include line: ${line.trim()}`);
      found.push({ file: name, text: own.join('\n') }, ...read(target, here));
      own = [];
    }
    done.add(name);
    return [...found, { file: name, text: own.join('\n') }];
  };

  const parts = read(file, []);
  if (unknown.size > 0) {
    // Otherwise a misspelt replacement would test the unchanged script.
    throw new Error(`${file}: nothing to replace: ${[...unknown].join(', ')}`);
  }
  return parts;
}

/**
 * @param {string} root
 * @param {string[]} chain
 * @param {Record<string, string>} replace
 * @returns {string}
 */
function textOf(root, chain, replace) {
  const name = /** @type {string} */ (chain.at(-1));
  const replaced = replace[name];
  if (replaced !== undefined) return replaced;
  try {
    return readFileSync(join(root, name), 'utf8');
  } catch (error) {
    throw new Error(`cannot read ${chain.join(' -> ')}`, { cause: error });
  }
}

/**
 * Removes whole-line comments, block comments on separate lines, indentation and blank lines. It
 * does not parse Lua, so it rejects syntax that could make a line part of a string.
 * @param {string} text
 * @param {string} where
 * @returns {string}
 */
export function stripLua(text, where) {
  const kept = [];
  let inBlock = false;
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (inBlock || line.startsWith('--[[')) {
      const end = line.indexOf(']]');
      inBlock = end === -1;
      if (end !== -1 && end + 2 !== line.length) {
        throw new Error(`${where}: code after a block comment: ${line}`);
      }
    } else if (line !== '' && !line.startsWith('--')) {
      if (/\[=*\[/.test(line)) throw new Error(`${where}: long bracket: ${line}`);
      if (line.endsWith('\\')) throw new Error(`${where}: string over two lines: ${line}`);
      kept.push(line);
    } else if (/^--\[=+\[/.test(line)) {
      throw new Error(`${where}: write block comments as --[[ ]]: ${line}`);
    }
  }
  if (inBlock) throw new Error(`${where}: a block comment does not end`);
  return kept.map((line) => `${line}\n`).join('');
}
