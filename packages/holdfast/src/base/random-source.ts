/**
 * Random values: for unique ids, and for jitter that keeps processes from acting together. All code
 * gets a `RandomSource`, so a simulation with one seed always runs the same way.
 */
import { randomBytes } from 'node:crypto';
import { inEachCopy } from './snapshot.js';

export interface RandomSource {
  /** Unique, without spaces. */
  id(): string;
  /** In [0, 1). */
  fraction(): number;
  /** Cannot be guessed: 16 characters of base64url. */
  secret(): string;
}

/** Tokens per draw, which costs a system call. */
const DRAWN = 256;
const TOKEN_BYTES = 12;
const TOKEN_LENGTH = 16;
let drawn = '';
inEachCopy(() => {
  drawn = '';
});

export const systemRandomSource: RandomSource = {
  id: () => randomBytes(12).toString('base64url'),
  fraction: () => Math.random(),
  secret: () => {
    if (drawn === '') drawn = randomBytes(DRAWN * TOKEN_BYTES).toString('base64url');
    const token = drawn.slice(0, TOKEN_LENGTH);
    drawn = drawn.slice(TOKEN_LENGTH);
    return token;
  },
};
