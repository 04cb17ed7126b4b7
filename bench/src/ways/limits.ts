/** The ways that are counted, how long they are, and how long they should be. */
import type { WayCount } from './trace.js';

export const WAYS = ['acquire', 'release', 'hand-off', 'turn', 'renewal'] as const;
export type WayName = (typeof WAYS)[number];

type Length = Omit<WayCount, 'back'>;

interface Way {
  readonly title: string;
  /** The present length: a test holds it, with a tenth of room. */
  readonly most: Length;
  readonly goal: Length;
}

const length = (files: number, moves: number, functions: number): Length => ({
  files,
  moves,
  functions,
});

export const LIMITS: Readonly<Record<WayName, Way>> = {
  acquire: {
    title: 'acquisition of a free mutex',
    most: length(26, 54, 93),
    goal: length(26, 60, 90),
  },
  release: { title: 'its release', most: length(17, 33, 57), goal: length(18, 35, 60) },
  'hand-off': {
    title: 'local hand-off',
    most: length(13, 16, 24),
    goal: length(11, 20, 30),
  },
  turn: {
    title: 'release that queues a root',
    most: length(27, 65, 105),
    goal: length(20, 50, 75),
  },
  renewal: { title: 'renewal', most: length(14, 57, 97), goal: length(14, 60, 100) },
};
