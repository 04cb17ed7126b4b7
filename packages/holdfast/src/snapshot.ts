/**
 * Start-up snapshots of Node (`--build-snapshot`): a program is begun once, written to disk, and
 * many processes start from the copy.
 */
import v8 from 'node:v8';

/**
 * Calls back in each process that starts from a snapshot which this process writes; never, if it
 * writes none.
 */
export function inEachCopy(callback: () => void): void {
  // other runtimes have no such interface
  const snapshot = (v8 as Partial<typeof v8>).startupSnapshot;
  // it answers 1, not true, on Node 20
  if (snapshot?.isBuildingSnapshot()) snapshot.addDeserializeCallback(callback);
}
