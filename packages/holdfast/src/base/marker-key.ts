/** The keys of markers, see `primitives/markers.ts`. */

/** No lock's key contains it. */
export const MARK = '\u001f';

/** Different lists of parts have different keys. */
export function markerKey(key: string, ...parts: string[]): string {
  // the lengths at the end tell where each part begins
  return [key, ...parts, parts.map(({ length }) => length).join(' ')].join(MARK);
}
