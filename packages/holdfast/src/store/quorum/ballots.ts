/**
 * Ballots: a number and the proposer. They are unique, and compare as texts.
 *
 * The number follows the clock of the servers only so that an old ballot does not win every race.
 */
import type { Micros } from '../../engine/commands.js';

const NUMBER_DIGITS = 16;
const PROPOSER_DIGITS = 12;

export class Ballots {
  readonly #proposer: string;
  readonly #now: () => Micros;
  #last = 0;

  /**
   * @param fraction a random number in [0, 1), which names the proposer
   * @param now the clock of the servers; 0 while unknown
   */
  constructor(fraction: () => number, now: () => Micros) {
    const digits = `${Math.floor(fraction() * 1e6)}`.padStart(6, '0');
    const more = `${Math.floor(fraction() * 1e6)}`.padStart(6, '0');
    this.#proposer = (digits + more).slice(0, PROPOSER_DIGITS);
    this.#now = now;
  }

  next(): string {
    this.#last = Math.max(this.#last + 1, Math.floor(this.#now()));
    return `${this.#last}`.padStart(NUMBER_DIGITS, '0') + this.#proposer;
  }

  pass(ballot: string): void {
    this.#last = Math.max(this.#last, Number(ballot.slice(0, NUMBER_DIGITS)));
  }
}
