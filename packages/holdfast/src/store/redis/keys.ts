/**
 * Names of keys.
 *
 * The three keys of a resource carry its name as a hash tag, so that a cluster keeps them in one
 * slot. The main record's name ends with the tag, and only its name does, so a listing finds it by
 * pattern.
 */

/** The three keys of a resource, in the order that each script's header names them. */
export function keysOf(prefix: string, key: string): [string, string, string] {
  const main = `${prefix}{${escapeTag(key)}}`;
  return [main, `${main}:q`, `${main}:x`];
}

/** The four keys of a gate, in the order that each script's header names them. */
export function gateKeysOf(prefix: string, key: string): [string, string, string, string] {
  const main = `${prefix}{${escapeTag(key)}}`;
  return [`${main}:g`, `${main}:ga`, `${main}:gp`, `${main}:gx`];
}

/**
 * The key that a main record belongs to, or `undefined` if the name is not one of a main record.
 */
export function keyOf(prefix: string, name: string): string | undefined {
  const start = `${prefix}{`;
  if (!name.startsWith(start) || !name.endsWith('}')) return undefined;
  const tag = name.slice(start.length, -1);
  return tag.startsWith('\\') ? tag.slice(1) : tag;
}

/**
 * A pattern for SCAN that finds the main records whose keys match a glob pattern, and maybe some
 * more. A key that begins with `}` or a backslash is escaped in names, so a first element that may
 * stand for one of these becomes `*`. Takes time in proportion to the pattern's length.
 */
export function scanPattern(prefix: string, pattern: string): string {
  let end: number | undefined = 0;
  while (end !== undefined && end < pattern.length) end = endOfElement(pattern, end);
  // an open bracket or a backslash at the end would swallow our closing brace
  const inner = end === undefined ? '*' : widened(pattern);
  return `${escapeGlob(prefix)}{${inner}}`;
}

function widened(pattern: string): string {
  const escaped = pattern[0] === '\\' ? pattern[1] : undefined;
  const wide = /^[?}[]/u.test(pattern) || escaped === '}' || escaped === '\\';
  return wide ? `*${pattern.slice(endOfElement(pattern, 0))}` : pattern;
}

/** Where the element that begins at `from` ends; `undefined` if it is not closed. */
function endOfElement(pattern: string, from: number): number | undefined {
  if (pattern[from] === '\\') return from + 1 < pattern.length ? from + 2 : undefined;
  if (pattern[from] !== '[') return from + 1;
  let at = from + (pattern[from + 1] === '^' ? 2 : 1);
  while (at < pattern.length && pattern[at] !== ']') {
    if (pattern[at] === '\\') at += 2;
    else at += pattern[at + 1] === '-' ? 3 : 1;
  }
  return at < pattern.length ? at + 1 : undefined;
}

/** The channel on which a process is woken. */
export function channelOf(prefix: string, name: string): string {
  return `${prefix}wake:${name}`;
}

/** A tag that begins with a closing brace would be empty, and an empty tag is none. */
function escapeTag(key: string): string {
  return key.startsWith('}') || key.startsWith('\\') ? `\\${key}` : key;
}

function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&');
}
