/**
 * The clock of all processes of this machine. The wall clock may be set, which would end leases
 * early, so on Linux it is read once for each start of the system, by the first process. From then
 * on time is counted by the monotonic clock, which is one for all processes, and which the system
 * keeps at the speed of the wall clock. What that process read is kept in the file:
 *
 *     time = origin + monotonic clock
 *
 * The monotonic clock begins anew with the system, and in another time namespace, so the origin has
 * the names of both. After a restart, the leases of before last as long as by the wall clock: some
 * are meant to outlive their process. Other systems tell no id of their start; there it is the wall
 * clock.
 */
import { readFileSync, readlinkSync } from 'node:fs';

/** What a clock counts from, and since which start of the system. */
export interface Origin {
  /** `''` if the clock is the wall clock. */
  readonly boot: string;
  /** In microseconds. */
  readonly origin: number;
}

const monotonic = (): number => Number(process.hrtime.bigint() / 1000n);
const wall = (): number => Date.now() * 1000;

/** Identifies the start of the system; `''` if that is not known. */
export function bootId(): string {
  if (process.platform !== 'linux') return '';
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${id} ${timeNamespace()}`.trim();
  } catch {
    return '';
  }
}

function timeNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/time');
  } catch {
    return '';
  }
}

/**
 * The origin for the first process after a start of the system. The wall clock may be wrong then:
 * leases of before would last too long, and fences go back.
 * @param latest the time never goes back behind that
 */
export function newOrigin(latest: number): number {
  return Math.max(wall(), latest) - monotonic();
}

/** The time in microseconds since 1970. */
export function timeOf({ boot, origin }: Origin): number {
  return boot === '' ? wall() : origin + monotonic();
}

/** By how much the clock is ahead of the wall clock, in microseconds. */
export function aheadOf(origin: Origin): number {
  return timeOf(origin) - wall();
}
