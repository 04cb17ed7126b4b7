/**
 * The order of the fields of packed values, and the words of the scripts that use it:
 *
 *     PACK.name({ field = value, … })      cmsgpack.pack with the values in the declared order
 *     PACK.name(w, { field = value, … })   the same, with w.field where no value is named
 *     a, b = UNPACK.name(packed, 'f g')    the fields f and g of a packed value
 *     UNPACK.name(packed, w)               all fields, into w.field
 *     PACK_HEAD, UNPACK_HEAD, UNPACK_REST  the fields before and after the bar of a declaration
 *     PLACE.name('field')                  the place of a field in the list
 *
 * Each becomes a plain call of cmsgpack before the scripts are shortened, so the server knows
 * nothing of them. A name that is not declared, or is named twice or not at all, fails here.
 */

/**
 * `head`: the number of fields before the bar. `least`: the number without the optional ones.
 * @typedef {{ fields: string[], head: number, least: number }} Declaration
 * @typedef {ReadonlyMap<string, Declaration>} Declarations
 */

const DECLARATION = /^--- @fields (\w+) +(.+)$/gm;
const WORD = /\b(PACK|PACK_HEAD|UNPACK|UNPACK_HEAD|UNPACK_REST|PLACE)\.(\w+)\(/;
const TARGETS = /(local\s+)?([\w.]+(?:\s*,\s*[\w.]+)*)\s*=\s*$/;

/**
 * @param {string} text the file of declarations
 * @returns {Declarations}
 */
export function declarations(text) {
  return new Map(
    [...text.matchAll(DECLARATION)].map(([, name = '', list = '']) => {
      const [least = '', optional = ''] = list.split('[');
      const [head = '', rest = ''] = least.split('|');
      const all = words(`${head} ${rest}`);
      const fields = [...all, ...words(optional.replace(']', ''))];
      return [name, { fields, head: words(head).length, least: all.length }];
    }),
  );
}

/**
 * A text without these words.
 * @param {string} text
 * @param {Declarations} declared
 * @param {string} where
 * @returns {string}
 */
export function expandFields(text, declared, where) {
  let rest = text;
  for (;;) {
    const found = WORD.exec(rest);
    if (found === null) return rest;
    const [start = '', word = '', name = ''] = found;
    const declaration = declared.get(name);
    const end = closing(rest, found.index + start.length);
    const call = rest.slice(found.index, end);
    if (declaration === undefined || end === 0) throw new Error(`${where}: unknown ${call}`);
    const args = parts(call.slice(start.length, -1));
    const before = rest.slice(0, found.index);
    try {
      rest = expanded(word, declaration, args, before) + rest.slice(end);
    } catch (error) {
      throw new Error(`${where}: ${call}: ${/** @type {Error} */ (error).message}`);
    }
  }
}

/**
 * @param {string} word
 * @param {Declaration} declaration
 * @param {string[]} args
 * @param {string} before the text before the word
 */
function expanded(word, { fields, head, least }, args, before) {
  if (word === 'PACK') return `${before}cmsgpack.pack(${packed(fields, least, args)})`;
  if (word === 'PACK_HEAD') {
    return `${before}cmsgpack.pack(${packed(fields.slice(0, head), head, args)})`;
  }
  if (word === 'PLACE') return `${before}${placeOf(fields, unquoted(args[0]))}`;
  const [value = '', second = '', third] = args;
  if (word === 'UNPACK' && /^\w+$/.test(second)) {
    return `${before}${fields.map((field) => `${second}.${field}`).join(', ')} = ${unpack(value)}`;
  }
  const names = unquoted(third ?? second).split(' ');
  if (word === 'UNPACK') return targets(before, fields, names) + unpack(value);
  if (word === 'UNPACK_HEAD') {
    const all = targets(before, fields.slice(0, head), names, true);
    return `${all}cmsgpack.unpack_limit(${value}, ${head})`;
  }
  const after = fields.slice(head);
  const count = Math.max(...names.map((name) => placeOf(after, name)));
  // the first result is the place after the values
  const assigned = targets(before, ['', ...after], names);
  return `${assigned}cmsgpack.unpack_limit(${value}, ${count}, ${second})`;
}

/** @param {string} value */
const unpack = (value) => `cmsgpack.unpack(${value})`;

/**
 * The values of a call of `pack`, in the declared order.
 * @param {readonly string[]} fields
 * @param {number} least
 * @param {readonly string[]} args
 */
function packed(fields, least, args) {
  const object = args[0]?.startsWith('{') === true ? undefined : args[0];
  const table = args[object === undefined ? 0 : 1]?.slice(1, -1) ?? '';
  /** @type {Map<string, string>} */
  const values = new Map();
  for (const part of parts(table)) {
    const [, field = '', value = ''] = /^(\w+)\s*=\s*([^]+)$/.exec(part) ?? [];
    if (values.has(field)) throw new Error(`${field} twice`);
    placeOf(fields, field);
    values.set(field, value);
  }
  const last = Math.max(least, ...[...values.keys()].map((field) => placeOf(fields, field)));
  const list = fields.slice(0, last).map((field) => {
    if (field === 'true') return field;
    const value = values.get(field) ?? (object === undefined ? undefined : `${object}.${field}`);
    if (value === undefined) throw new Error(`no ${field}`);
    return value;
  });
  return list.join(', ');
}

/**
 * The targets of an assignment, each at the place of its field.
 * @param {string} before the text up to the call
 * @param {readonly string[]} fields
 * @param {readonly string[]} names the fields of the targets
 * @param {boolean} [counted] the first target is a number before the fields
 */
function targets(before, fields, names, counted = false) {
  const found = TARGETS.exec(before);
  if (found === null) throw new Error('is not assigned');
  const [all, local = '', list = ''] = found;
  const own = parts(list);
  const first = counted ? own.splice(0, 1) : [];
  if (own.length !== names.length) throw new Error(`${own.length} targets`);
  /** @type {string[]} */
  const placed = [];
  for (const [at, name] of names.entries()) {
    const place = placeOf(fields, name) - 1;
    if (place < placed.length) throw new Error(`${name} is not in the declared order`);
    while (placed.length < place) placed.push('_');
    placed.push(own[at] ?? '');
  }
  return `${before.slice(0, -all.length)}${local}${[...first, ...placed].join(', ')} = `;
}

/**
 * The place of a field, from 1.
 * @param {readonly string[]} fields
 * @param {string} field
 */
function placeOf(fields, field) {
  const place = fields.indexOf(field) + 1;
  if (place === 0) throw new Error(`no field ${field}`);
  return place;
}

/** @param {string | undefined} text */
function unquoted(text) {
  const [, inner] = /^'([\w ]+)'$/.exec(text ?? '') ?? [];
  if (inner === undefined) throw new Error('names no fields');
  return inner;
}

/** @param {string} text */
const words = (text) => text.split(' ').filter((word) => word !== '');

/**
 * The parts of a list between commas that stand in no bracket and in no string.
 * @param {string} text
 */
function parts(text) {
  /** @type {string[]} */
  const list = [];
  let from = 0;
  for (let at = 0; at <= text.length; at += 1) {
    if (at === text.length || text[at] === ',') {
      list.push(text.slice(from, at).trim());
      from = at + 1;
    } else {
      at = skipped(text, at);
    }
  }
  return list.filter((part) => part !== '');
}

/**
 * The end of a bracket whose content begins at `from`; 0 if it does not close.
 * @param {string} text
 * @param {number} from
 */
function closing(text, from) {
  for (let at = from; at < text.length; at += 1) {
    if (/[)\]}]/.test(text[at] ?? '')) return at + 1;
    at = skipped(text, at);
  }
  return 0;
}

/**
 * The last character of the string or bracket that begins at a place; otherwise the place.
 * @param {string} text
 * @param {number} at
 */
function skipped(text, at) {
  const character = text[at] ?? '';
  if (/['"]/.test(character)) {
    const end = text.indexOf(character, at + 1);
    return end === -1 ? text.length : end;
  }
  if (!/[([{]/.test(character)) return at;
  const end = closing(text, at + 1);
  return end === 0 ? text.length : end - 1;
}
