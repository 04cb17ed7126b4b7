/**
 * Shortens the scripts: one short name for each local name, and no spaces where none are needed.
 * Lines stay lines, so an error of the server names the line of the readable source.
 *
 * A name becomes the same short name in all scripts, because they share parts.
 */
import luaparse from 'luaparse';

/** @typedef {import('./lua.mjs').Piece} Piece */
/** @typedef {{ name: string, range: [number, number], isLocal?: boolean }} Identifier */

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const KEYWORDS = new Set([
  ...['and', 'break', 'do', 'else', 'elseif', 'end', 'false', 'for', 'function', 'if', 'in'],
  ...['local', 'nil', 'not', 'or', 'repeat', 'return', 'then', 'true', 'until', 'while'],
]);
const TOKENS = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\w+|[^\S\n]+|\n|./g;

/**
 * @param {readonly (readonly Piece[])[]} scripts the parts of each script
 * @returns {(readonly Piece[])[]}
 */
export function shorten(scripts) {
  const found = scripts.map((pieces) => identifiers(pieces.map(({ text }) => text).join('')));
  const names = shortNames(found.flat());
  return scripts.map((pieces, at) => {
    const locals = found[at]?.filter(({ isLocal }) => isLocal === true) ?? [];
    let start = 0;
    return pieces.map(({ file, text }) => {
      const end = start + text.length;
      const own = locals.filter(({ range }) => range[0] >= start && range[1] <= end);
      const renamed = rename(text, start, own, names);
      start = end;
      return { file, text: withoutSpaces(renamed) };
    });
  });
}

/**
 * All identifiers of a script. Fields and keys of tables are not marked as local or global.
 * @param {string} source
 * @returns {Identifier[]}
 */
function identifiers(source) {
  /** @type {Identifier[]} */
  const list = [];
  const code = source.replace(/^#![^\n]*/, (line) => ' '.repeat(line.length));
  luaparse.parse(code, {
    luaVersion: '5.1',
    ...{ scope: true, ranges: true, comments: false },
    // the parser marks the node after this call
    onCreateNode: (/** @type {{ type: string }} */ node) => {
      if (node.type === 'Identifier') list.push(/** @type {any} */ (node));
    },
  });
  return list;
}

/**
 * The most frequent names become the shortest. A short name is never the name of a global.
 * @param {readonly Identifier[]} list
 * @returns {Map<string, string>}
 */
function shortNames(list) {
  const globals = new Set(list.filter(({ isLocal }) => isLocal === false).map(({ name }) => name));
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { name, isLocal } of list) {
    if (isLocal === true) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  let number = 0;
  const next = () => {
    for (;;) {
      const name = nameOf(number++);
      if (!globals.has(name) && !KEYWORDS.has(name)) return name;
    }
  };
  return new Map(sorted.map(([name]) => [name, next()]));
}

/** @param {number} number */
function nameOf(number) {
  let name = '';
  for (let rest = number + 1; rest > 0; rest = Math.floor((rest - 1) / LETTERS.length)) {
    name = LETTERS[(rest - 1) % LETTERS.length] + name;
  }
  return name;
}

/**
 * @param {string} text
 * @param {number} start the place of the text in its script
 * @param {readonly Identifier[]} locals
 * @param {ReadonlyMap<string, string>} names
 */
function rename(text, start, locals, names) {
  let result = '';
  let done = 0;
  for (const { name, range } of [...locals].sort((a, b) => a.range[0] - b.range[0])) {
    result += text.slice(done, range[0] - start) + names.get(name);
    done = range[1] - start;
  }
  return result + text.slice(done);
}

/** @param {string} text */
function withoutSpaces(text) {
  if (text.startsWith('#!')) return text;
  const tokens = text.match(TOKENS) ?? [];
  return tokens.filter((token, at) => !/^[^\S\n]+$/.test(token) || needed(tokens, at)).join('');
}

/**
 * True if two tokens would be read differently without the space between them.
 * @param {readonly string[]} tokens
 * @param {number} at
 */
function needed(tokens, at) {
  const before = tokens[at - 1] ?? '\n';
  const after = tokens[at + 1] ?? '\n';
  const words = /\w$/.test(before) && /^\w/.test(after);
  const dots = /\d$/.test(before) && after === '.';
  return words || dots || (before === '-' && after === '-');
}
