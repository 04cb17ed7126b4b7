/**
 * The clock of a register, as a process knows it between two calls: bounds that drift apart. A
 * command uses the lower one, so no lease ends early. What a holder is told of its lease counts
 * from the upper one, so it does not believe for too long.
 */
import type { Micros, Push } from '../../engine/commands.js';

/** How much faster or slower one clock runs. */
const DRIFT = 0.01;

export interface KnownTime {
  /** The time of the state, which no command precedes. */
  readonly time: Micros;
  /** The lower bound at the local time `knownAt`. */
  readonly storeTime: Micros;
  readonly knownAt: number;
  /** The upper bound at the local time `askedAt`. */
  readonly latest: Micros;
  readonly askedAt: number;
}

/** The time for commands: never before the last one, and never ahead of the clock. */
export function timeOf({ time, storeTime, knownAt }: KnownTime, now: number): Micros {
  return Math.max(time, storeTime + Math.floor((now - knownAt) * 1000 * (1 - DRIFT)));
}

/** The clock is not ahead of this. */
export function latestOf({ latest, askedAt }: KnownTime, now: number): Micros {
  return latest + Math.ceil((now - askedAt) * 1000 * (1 + DRIFT));
}

/** `late`: the clock may be ahead of `time` by so much. */
export function boundsOf(known: KnownTime, now: number): { time: Micros; late: Micros } {
  const time = timeOf(known, now);
  return { time, late: latestOf(known, now) - time };
}

/**
 * A push of a command whose time was `late` behind the upper bound. A waiter without an answer
 * takes the push's time for that of its request, or for a later one, so its lease is shorter by
 * that much. The time stays, because no fence is smaller than it.
 */
export function shortened(push: Push, late: Micros): Push {
  if (push.kind !== 'grant' || late <= 0) return push;
  return { ...push, left: Math.max(0, push.left - late) };
}
