/**
 * Ids that are unique for ever: one for a process, and a count. No space occurs in them.
 */
import { type Chance, systemChance } from './chance.js';

export class Ids {
  /** What all ids of this source begin with. */
  readonly process: string;
  #count = 0;

  constructor(chance: Chance = systemChance) {
    this.process = chance.id();
  }

  next(): string {
    this.#count += 1;
    return `${this.process}.${this.#count.toString(36)}`;
  }
}
