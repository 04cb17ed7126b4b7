/**
 * Startup snapshots of Node (`--build-snapshot`): one process starts the program and writes it to
 * disk, and many start from that copy.
 */
import v8 from 'node:v8';

/** Calls back in each process that starts from a snapshot of this one. */
export function inEachCopy(callback: () => void): void {
  // other runtimes do not have this interface
  const snapshot = (v8 as Partial<typeof v8>).startupSnapshot;
  // it returns 1, not true, on Node 20
  if (snapshot?.isBuildingSnapshot()) snapshot.addDeserializeCallback(callback);
}
