/**
 * Where chance comes from: the ids that are unique for ever, and the jitter that keeps processes
 * from doing the same thing at the same moment.
 *
 * Everything gets a `Chance` as it gets a `Clock`, so that a simulation of one seed is always the
 * same. Nothing that must be secret is made of it.
 */
import { randomBytes } from 'node:crypto';

/** A source of chance. */
export interface Chance {
  /** Unique for ever, without spaces. */
  id(): string;
  /** A number from 0 to 1, without 1. */
  fraction(): number;
}

/** The chance of this machine. */
export const systemChance: Chance = {
  // 96 random bits
  id: () => randomBytes(12).toString('base64url'),
  fraction: () => Math.random(),
};
