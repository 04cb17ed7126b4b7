/** What endangers locks in a file, for `Holdfast.doctor`. */
import type { Finding } from 'holdfast/register';
import { isUnclear } from './place.js';

/** By how much the clocks may differ, in microseconds. */
const APART = 5_000_000;

/** @param ahead by how much the clock of the file is ahead of the wall clock, in microseconds */
export function findingsOf(path: string, ahead: number): Finding[] {
  const findings: Finding[] = [];
  if (isUnclear(path)) {
    findings.push({
      code: 'sqlite:unclear-file-system',
      severity: 'warning',
      server: path,
      message: 'if other machines see this file too, a lock may have two holders',
      evidence: 'the file system is FUSE',
      advice: 'use a disk of this machine',
    });
  }
  if (Math.abs(ahead) > APART) {
    findings.push({
      code: 'sqlite:clock-was-set',
      severity: 'notice',
      server: path,
      message: 'schedules run by a time that is not that of the wall clock; leases are right',
      evidence: `${Math.round(ahead / 1000)} ms ahead of the wall clock, which was set`,
      advice: 'restart the machine if it is behind; if it is ahead, use another file',
    });
  }
  return findings;
}
