/** The typed header of a Lua script: parses it, and compares it with the script. */

/**
 * @typedef {object} Header
 * @property {string} name
 * @property {string[]} keys The last may end in `...`: it means all keys from there on.
 * @property {string[]} args The last may end in `...`: it means all arguments from there on.
 */

const TYPE = /^[a-z]+$/;
const NAME = /^[A-Za-z_]\w*(\.\.\.)?$/;

/**
 * Reads the block comment at the top of a script.
 * @param {string} text
 * @param {string} where
 * @returns {Header}
 */
export function parseHeader(text, where) {
  const comment = /^--\[\[ (\w+): \S[^\n]*\n([\s\S]*?)\]\]/.exec(text);
  if (comment === null) {
    throw new Error(`${where}: does not begin with "--[[ name: what it does"`);
  }
  const lines = (comment[2] ?? '').split('\n');
  const header = {
    name: comment[1] ?? '',
    keys: section(lines, 'KEYS', where),
    args: section(lines, 'ARGV', where),
  };
  if (!lines.some((line) => line.trim() === 'REPLY')) throw new Error(`${where}: no REPLY`);
  checkNames(header, where);
  return header;
}

/**
 * The first line that the server reads, with the flags of the header's section FLAGS; empty without
 * flags.
 * @param {string} text
 * @returns {string}
 */
export function flagLine(text) {
  const flags = /^--\[\[(?:(?!\]\])[^])*?\n *FLAGS\n *(\S[^\n]*)\n/.exec(text)?.[1];
  return flags === undefined ? '' : `#!lua flags=${flags.split(/\s+/).join(',')}\n`;
}

/**
 * The names in one section. A line with more indentation than the first one continues a remark.
 * @param {string[]} lines
 * @param {string} title
 * @param {string} where
 * @returns {string[]}
 */
function section(lines, title, where) {
  const start = lines.findIndex((line) => line.trim() === title);
  if (start === -1) return [];
  const names = [];
  let indent = -1;
  for (const line of lines.slice(start + 1)) {
    const text = line.trim();
    if (text === '' || /^(FLAGS|KEYS|ARGV|REPLY)$/.test(text)) break;
    const depth = line.length - line.trimStart().length;
    if (indent === -1) indent = depth;
    if (depth > indent) continue;
    const [name = '', type = ''] = text.split(/\s+/);
    if (!NAME.test(name) || !TYPE.test(type)) {
      throw new Error(`${where}: ${title}: expected "name type remark": ${text}`);
    }
    names.push(name);
  }
  return names;
}

/**
 * @param {Header} header
 * @param {string} where
 */
function checkNames(header, where) {
  const notLast = [...header.keys.slice(0, -1), ...header.args.slice(0, -1)];
  const early = notLast.find((name) => name.endsWith('...'));
  if (early !== undefined) throw new Error(`${where}: ${early} must be the last argument`);
  const all = [...header.keys, ...header.args];
  const twice = all.find((name, index) => all.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`${where}: ${twice} is named twice`);
}

/**
 * The differences between a script and its header. Each name must be bound to a local of the same
 * name, as in `local ttl = tonumber(ARGV[2])`, and used; a variadic argument must be read from its
 * index on, as in `for i = 3, #ARGV do`.
 * @param {{ source: string, keys: readonly string[], args: readonly string[] }} script
 * @returns {string[]}
 */
export function headerProblems(script) {
  return [
    ...tableProblems(script.source, 'KEYS', script.keys),
    ...tableProblems(script.source, 'ARGV', script.args),
  ];
}

/**
 * @param {string} source
 * @param {'KEYS' | 'ARGV'} table
 * @param {readonly string[]} names
 * @returns {string[]}
 */
function tableProblems(source, table, names) {
  const problems = [];
  const bindings = bindingsOf(source, table);
  const fixed = names.filter((name) => !name.endsWith('...'));
  fixed.forEach((name, index) => {
    const bound = bindings.get(index + 1) ?? [];
    if (!bound.includes(name)) {
      problems.push(`no "local ${name} = ${table}[${index + 1}]"`);
    } else if (!usedAfterBinding(source, name)) {
      problems.push(`${name} is bound but not used`);
    }
    for (const other of bound.filter((candidate) => candidate !== name)) {
      problems.push(`${table}[${index + 1}] is "${name}" in the header, "${other}" in the script`);
    }
  });
  for (const [, digits] of source.matchAll(new RegExp(`\\b${table}\\[(\\d+)\\]`, 'g'))) {
    const index = Number(digits);
    if (index < 1 || index > fixed.length) {
      problems.push(`${table}[${index}] is not in the header`);
    }
  }
  const open = new RegExp(`#\\s*${table}\\b|\\b${table}\\b(?!\\[\\d+\\])`).test(source);
  const variadic = names.length > fixed.length;
  if (open && !variadic)
    problems.push(`${table} is used as a whole, but the header has no variadic name`);
  if (variadic && !readsFrom(source, table, names.length)) {
    problems.push(`${names.at(-1)} is not read from ${table}[${names.length}] on`);
  }
  return problems;
}

/**
 * The names bound to each index, as in `local a, b = KEYS[1], tonumber(KEYS[2])`.
 * @param {string} source
 * @param {string} table
 * @returns {Map<number, string[]>}
 */
function bindingsOf(source, table) {
  /** @type {Map<number, string[]>} */
  const bindings = new Map();
  const value = new RegExp(`^(?:\\w+\\()*${table}\\[(\\d+)\\]`);
  const joined = source.replace(/([=,])\n/g, '$1 ');
  for (const [, names = '', values = ''] of joined.matchAll(/^local ([\w, ]+?) = (.*)$/gm)) {
    const expressions = splitList(values);
    names.split(/,\s*/).forEach((name, position) => {
      const index = value.exec(expressions[position] ?? '')?.[1];
      if (index === undefined) return;
      bindings.set(Number(index), [...(bindings.get(Number(index)) ?? []), name]);
    });
  }
  return bindings;
}

/**
 * Splits at commas outside brackets.
 * @param {string} text
 * @returns {string[]}
 */
function splitList(text) {
  const parts = [''];
  let depth = 0;
  for (const char of text) {
    if ('([{'.includes(char)) depth += 1;
    if (')]}'.includes(char)) depth -= 1;
    if (char === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim());
}

/**
 * True if a name occurs again after its binding.
 * @param {string} source
 * @param {string} name
 */
function usedAfterBinding(source, name) {
  return (source.match(new RegExp(`(?<![.\\w'"])${name}\\b`, 'g'))?.length ?? 0) > 1;
}

/**
 * True if a loop or `unpack` reads the table from index `first` on.
 * @param {string} source
 * @param {string} table
 * @param {number} first
 */
function readsFrom(source, table, first) {
  const loop = new RegExp(`= ${first}, #${table}\\b`);
  const unpack = new RegExp(`unpack\\(${table}, ${first}\\b`);
  return loop.test(source) || unpack.test(source);
}
