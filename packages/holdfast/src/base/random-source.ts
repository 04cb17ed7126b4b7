/**
 * The source of random values: for unique ids, and for the jitter that keeps processes from acting
 * at the same moment.
 *
 * All code gets a `RandomSource`, as it gets a `Clock`, so that a simulation with the same seed
 * always runs the same way.
 */
import { randomBytes } from 'node:crypto';
import { inEachCopy } from './snapshot.js';

/** A source of random values. */
export interface RandomSource {
  /** A unique id without spaces. */
  id(): string;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  fraction(): number;
  /** A token that cannot be guessed: 16 characters of base64url. */
  secret(): string;
}

/** Tokens per draw: a separate draw for each token would cost a system call. */
const DRAWN = 256;
const TOKEN_BYTES = 12;
const TOKEN_LENGTH = 16;
let drawn = '';
inEachCopy(() => {
  drawn = '';
});

/** The random source of this machine. */
export const systemRandomSource: RandomSource = {
  // 96 random bits
  id: () => randomBytes(12).toString('base64url'),
  fraction: () => Math.random(),
  secret: () => {
    if (drawn === '') drawn = randomBytes(DRAWN * TOKEN_BYTES).toString('base64url');
    const token = drawn.slice(0, TOKEN_LENGTH);
    drawn = drawn.slice(TOKEN_LENGTH);
    return token;
  },
};
