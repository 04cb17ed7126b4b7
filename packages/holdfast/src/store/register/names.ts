/**
 * The keys of a register. A lock may have any text as its key, and databases accept no U+0000, so
 * it is written as two other characters.
 */

/** The name of a key in a register: text without U+0000. Different keys have different names. */
export function nameOf(key: string): string {
  return key.replaceAll('\u001e', '\u001e1').replaceAll('\0', '\u001e0');
}

/** The key of a name; the rest of a name if its prefix is cut off. */
export function keyOf(name: string): string {
  return name.replaceAll('\u001e0', '\0').replaceAll('\u001e1', '\u001e');
}
