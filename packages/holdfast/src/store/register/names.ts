/** The keys of a register: databases accept no U+0000, so it is written as two other characters. */

/** The name of a key with its prefix and kind. */
export function nameOf(key: string): string {
  return key.replaceAll('\u001e', '\u001e1').replaceAll('\0', '\u001e0');
}

export function keyOf(name: string): string {
  return name.replaceAll('\u001e0', '\0').replaceAll('\u001e1', '\u001e');
}
