/**
 * Detects a process without CPU time, by a plain timer that is independent of the lock. If this
 * timer is late, everything in the process is late, and a measurement can take it into account.
 */
import { monotonic } from './overlaps.js';

const BEAT_MS = 2;
/** How long beats are kept. */
export const KNOWN_MS = 2000;

/** Starts the timer; the returned function gives the times of the last beats. */
export function startBeats(): () => readonly number[] {
  const beats: number[] = [];
  const prune = (now: number): void => {
    while ((beats[0] as number) < now - KNOWN_MS) beats.shift();
  };
  setInterval(() => {
    const now = monotonic();
    beats.push(now);
    prune(now);
  }, BEAT_MS);
  return () => beats;
}

/** The longest time without a beat between two times. */
export function stillness(beats: readonly number[], from: number, to: number): number {
  const inside = beats.filter((beat) => beat > from && beat < to);
  const ends = [...inside, to];
  const gaps = ends.map((end, at) => end - (at === 0 ? from : (ends[at - 1] as number)));
  return Math.max(0, Math.max(...gaps) - BEAT_MS);
}
