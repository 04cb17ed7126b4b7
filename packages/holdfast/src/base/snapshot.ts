/** Startup snapshots of Node (`--build-snapshot`): many processes start from the copy of one. */
import v8 from 'node:v8';

export function inEachCopy(callback: () => void): void {
  // other runtimes do not have it
  const snapshot = (v8 as Partial<typeof v8>).startupSnapshot;
  // it returns 1, not true, on Node 20
  if (snapshot?.isBuildingSnapshot()) snapshot.addDeserializeCallback(callback);
}
