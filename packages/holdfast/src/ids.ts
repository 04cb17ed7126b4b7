/**
 * Ids that are unique for ever: 96 random bits for a process, and a count. No space occurs in them.
 */
import { randomBytes } from 'node:crypto';

export class Ids {
  /** What all ids of this source begin with. */
  readonly process: string = randomBytes(12).toString('base64url');
  #count = 0;

  next(): string {
    this.#count += 1;
    return `${this.process}.${this.#count.toString(36)}`;
  }
}
