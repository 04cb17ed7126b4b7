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
 * more: what a key may begin with that is escaped in names, is not looked at.
 */
export function scanPattern(prefix: string, pattern: string): string {
  const wide = pattern.replace(/^(?:[?}]|\\[\\}]|\[(?:\\.|[^\]])*\])/su, '*');
  // an open bracket or a backslash at the end would swallow our closing brace
  const closed = /^(?:\\.|\[(?:\\.|[^\]])*\]|[^\\[])*$/su.test(wide);
  return `${escapeGlob(prefix)}{${closed ? wide : '*'}}`;
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
