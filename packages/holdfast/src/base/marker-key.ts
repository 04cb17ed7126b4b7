/** The keys of markers: leases that nothing renews or releases, see `primitives/markers.ts`. */

/** The key of a lock must not contain it. */
export const MARK = '\u001f';

/** No two different lists of parts have the same key. */
export function markerKey(key: string, ...parts: string[]): string {
  // the lengths at the end tell where each part begins
  return [key, ...parts, parts.map(({ length }) => length).join(' ')].join(MARK);
}
