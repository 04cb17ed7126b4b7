/**
 * Where chance comes from: the ids that are unique for ever, and the jitter that keeps processes
 * from doing the same thing at the same moment.
 *
 * Everything gets a `Chance` as it gets a `Clock`, so that a simulation of one seed is always the
 * same.
 */
import { randomBytes } from 'node:crypto';
import { inEachCopy } from './snapshot.js';

/** A source of chance. */
export interface RandomSource {
  /** Unique for ever, without spaces. */
  id(): string;
  /** A number from 0 to 1, without 1. */
  fraction(): number;
  /** A token that cannot be guessed: 16 characters of base64url. */
  secret(): string;
}

/** Tokens that are drawn from the system at once: one draw for each would cost a system call. */
const DRAWN = 256;
const TOKEN_BYTES = 12;
const TOKEN_LENGTH = 16;
let drawn = '';
inEachCopy(() => {
  drawn = '';
});

/** The chance of this machine. */
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
