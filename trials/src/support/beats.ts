/**
 * What the machine does to a process: a plain timer of its own, which has nothing to do with the
 * lock. Where that is late, so is everything in the process, and a measurement says so.
 */
import { monotonic } from './overlaps.js';

const BEAT_MS = 2;
/** How far back the beats are known. */
const KNOWN_MS = 250;

/** In a process: the moments of the last beats. */
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

/** True if the process ran at all between two moments. */
export function ran(beats: readonly number[], from: number, to: number): boolean {
  return beats.some((beat) => beat > from && beat < to);
}

/** The longest time between two moments for which the process did not run. */
export function stillness(beats: readonly number[], from: number, to: number): number {
  const inside = beats.filter((beat) => beat > from && beat < to);
  const ends = [...inside, to];
  const gaps = ends.map((end, at) => end - (at === 0 ? from : (ends[at - 1] as number)));
  return Math.max(0, Math.max(...gaps) - BEAT_MS);
}
