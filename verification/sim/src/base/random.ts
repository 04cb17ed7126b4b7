/**
 * Random numbers from a seed. Each part of a simulation has its own source, named after the part.
 * Removing one task or fault from a case therefore does not change the draws of the others.
 */

/** Four words of state from a text (a variant of FNV-1a, one word after the other). */
function words(text: string): [number, number, number, number] {
  const out: [number, number, number, number] = [0, 0, 0, 0];
  for (let word = 0; word < 4; word++) {
    let hash = 0x811c9dc5 ^ (word * 0x9e3779b9);
    for (let index = 0; index < text.length; index++) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    }
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
    out[word] = (hash ^ (hash >>> 13)) | 0;
  }
  return out;
}

/** The generator `sfc32` (small fast counting, public domain, by Chris Doty-Humphrey). */
export class Random {
  readonly name: string;
  #a: number;
  #b: number;
  #c: number;
  #count: number;

  constructor(name: string) {
    this.name = name;
    [this.#a, this.#b, this.#c, this.#count] = words(name);
    for (let round = 0; round < 12; round++) this.next();
  }

  /** An independent source for a part. */
  fork(part: string | number): Random {
    return new Random(`${this.name}/${part}`);
  }

  /** From 0 to 1, without 1. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return (sum >>> 0) / 4294967296;
  }

  /** A number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + (max - min) * this.next();
  }

  /** A number from `min` to `max`, small ones more often: each order of magnitude alike. */
  spread(min: number, max: number): number {
    return min * (max / min) ** this.next();
  }

  /** A whole number from `min` to `max`. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T;
  }
}
