/**
 * The source of random values: for unique ids, and for the jitter that keeps processes from acting
 * at the same moment. All code gets a `RandomSource`, as it gets a `Clock`, so that a simulation
 * with the same seed always runs the same way.
 */
import { randomBytes } from 'node:crypto';
import { inEachCopy } from './snapshot.js';

export interface RandomSource {
  /** Unique, without spaces. */
  id(): string;
  /** In [0, 1). */
  fraction(): number;
  /** It cannot be guessed: 16 characters of base64url. */
  secret(): string;
}

/** Tokens per draw: one draw for each would cost a system call. */
const DRAWN = 256;
const TOKEN_BYTES = 12;
const TOKEN_LENGTH = 16;
let drawn = '';
inEachCopy(() => {
  drawn = '';
});

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
