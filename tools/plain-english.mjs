/**
 * Counts words and clauses that make technical English hard to read: indefinite pronouns and bare
 * relative pronouns as subjects, personal pronouns, and archaic phrases. See `MARKED`.
 *
 *   node tools/plain-english.mjs              the rate of each folder
 *   node tools/plain-english.mjs --list sim   each finding in files with `sim` in their path
 *
 * The tool reads comments and test titles of TypeScript, JavaScript, Lua, C and Promela, and the
 * prose of Markdown. It also reads strings of at least four words, because they are messages.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

/** Marked words in 1,000 words that a folder may have. */
export const LIMIT = 2;

const PRONOUN = '(?:who|what|which)ever|(?:some|no|any|every)body|(?:no|any|every) ?one(?! of)';
const VERB = '(?:\\w+s|can|may|must|had|will|would|did|do|are|were|came|went|held|asked|waited)';
/** Nouns that can be the antecedent of a relative pronoun. */
const NOUNS =
  '(?:holder|waiter|owner|caller|user|reader|writer|leader|engineer|developer|operator|person|' +
  'people|newcomer|reviewer|client|administrator|attacker|maintainer|programmer|observer)s?,?';

/** @type {readonly RegExp[]} */
const MARKED = [
  new RegExp(`\\b(?:${PRONOUN})\\b`, 'gi'),
  new RegExp(`(?<!${NOUNS}\\s)\\bwhom?\\b(?! (?:am|are) I\\b)`, 'gi'),
  new RegExp(`\\bwhat\\s+(?:not\\s+)?${VERB}\\b`, 'gi'),
  /\b(?:for ever|all the same|behind (?:his|its|their) back|in vain|ere|hence|thereof)\b/gi,
  /\b(?:he|him|his|himself|she|her)\b/g,
];

/** @typedef {{ line: number, text: string }} Passage */
/** @typedef {{ path: string, line: number, found: string, text: string }} Finding */
/** @typedef {{ words: number, findings: Finding[] }} Count */

/**
 * The passages of a file that a person reads.
 * @param {string} path
 * @param {string} text
 * @returns {Passage[]}
 */
export function passages(path, text) {
  if (path.endsWith('.md')) return markdown(text);
  if (path.endsWith('.lua')) return lua(text);
  return cLike(text);
}

/** @param {string} text @returns {Passage[]} */
function markdown(text) {
  let fenced = false;
  return text.split('\n').flatMap((line, index) => {
    if (/^\s*```/.test(line)) fenced = !fenced;
    if (fenced) return [];
    return [{ line: index + 1, text: line.replace(/`[^`]*`/g, 'x').replace(/\]\([^)]*\)/g, ']') }];
  });
}

/** @param {string} text @returns {Passage[]} */
function lua(text) {
  let block = false;
  return text.split('\n').flatMap((line, index) => {
    if (line.includes('--[[')) block = true;
    const inside = block;
    if (line.includes(']]')) block = false;
    const comment = inside ? line : line.match(/--(?!-)(.*)$/)?.[1];
    return comment === undefined ? [] : [{ line: index + 1, text: comment }];
  });
}

/** @param {string} text @returns {Passage[]} */
function cLike(text) {
  let block = false;
  return text.split('\n').flatMap((line, index) => {
    const number = index + 1;
    const opens = /^\s*\/\*/.test(line);
    if (opens) block = true;
    if (block) {
      if (line.includes('*/')) block = false;
      return [{ line: number, text: line.replace(/^\s*(?:\/\*+|\*\/?)|\*\/\s*$/g, '') }];
    }
    const found = [];
    const comment = line.match(/(?:^|[\s;{}),])\/\/(.*)$/)?.[1];
    if (comment !== undefined) found.push({ line: number, text: comment });
    for (const [, quoted = ''] of line.matchAll(/(['"`](?:[^'"`\\]|\\.)*['"`])/g)) {
      if (quoted.split(/\s+/).length >= 4) found.push({ line: number, text: quoted.slice(1, -1) });
    }
    return found;
  });
}

/**
 * Counts the words of a file, and finds the marked ones.
 * @param {string} path
 * @param {string} text
 * @returns {Count}
 */
export function count(path, text) {
  /** @type {Count} */
  const total = { words: 0, findings: [] };
  for (const passage of passages(path, text)) {
    total.words += passage.text.match(/[A-Za-z][\w'’-]*/g)?.length ?? 0;
    for (const marked of MARKED) {
      for (const [found] of passage.text.matchAll(marked)) {
        const finding = { path, line: passage.line, found: found.trim() };
        total.findings.push({ ...finding, text: passage.text.trim() });
      }
    }
  }
  return total;
}

/** The folder that a file counts for. @param {string} path */
export function folderOf(path) {
  const parts = path.split('/');
  if (parts.length === 1) return '.';
  if (parts[0] !== 'packages') return /** @type {string} */ (parts[0]);
  if (parts[2] !== 'src' || parts[1] !== 'holdfast') return parts.slice(0, 3).join('/');
  return path.endsWith('.lua') ? 'packages/holdfast/src/**/*.lua' : parts.slice(0, 3).join('/');
}

const READABLE = /\.(?:ts|mts|mjs|js|lua|md|c|pml)$/;

/** The files that are counted. @param {readonly string[]} paths */
export function readable(paths) {
  return paths.filter(
    (path) => READABLE.test(path) && !/\.api\.md$|\/(generated|support\/prisma)\//.test(path),
  );
}

/**
 * Counts by folder.
 * @param {readonly { path: string, text: string }[]} files
 * @returns {Map<string, Count>}
 */
export function byFolder(files) {
  /** @type {Map<string, Count>} */
  const folders = new Map();
  for (const { path, text } of files) {
    const own = count(path, text);
    const all = folders.get(folderOf(path)) ?? { words: 0, findings: [] };
    all.words += own.words;
    all.findings.push(...own.findings);
    folders.set(folderOf(path), all);
  }
  return folders;
}

/** Marked words in 1,000. @param {Count} count */
export function rate({ words, findings }) {
  return words === 0 ? 0 : (1000 * findings.length) / words;
}

function main() {
  const { values } = parseArgs({ options: { list: { type: 'string' } } });
  const root = fileURLToPath(new URL('..', import.meta.url));
  const args = ['ls-files', '-co', '--exclude-standard'];
  const paths = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const there = readable(paths).filter((path) => existsSync(join(root, path)));
  const files = there.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  if (values.list !== undefined) {
    for (const { path, text } of files.filter((file) => file.path.includes(values.list ?? ''))) {
      for (const one of count(path, text).findings) {
        console.log(`${one.path}:${one.line}: "${one.found}": ${one.text}`);
      }
    }
    return;
  }
  const folders = [...byFolder(files)].sort(([a], [b]) => a.localeCompare(b));
  for (const [folder, all] of folders) {
    const per = rate(all).toFixed(1).padStart(5);
    console.log(`${per} in 1,000  ${String(all.words).padStart(6)} words  ${folder}`);
    if (rate(all) > LIMIT) process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) main();
