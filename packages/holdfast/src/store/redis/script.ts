/**
 * A Lua script as the server gets it. Its text is put together from shared parts when it is first
 * used, so that the package carries each part once.
 */
import { createHash } from 'node:crypto';

export class Script {
  readonly #parts: readonly string[];
  #source: string | undefined;
  #sha: string | undefined;

  constructor(parts: readonly string[]) {
    this.#parts = parts;
  }

  /** The whole text. */
  get source(): string {
    this.#source ??= this.#parts.join('');
    return this.#source;
  }

  /** SHA-1 of `source`: the name that the server gives to the script. */
  get sha(): string {
    this.#sha ??= createHash('sha1').update(this.source).digest('hex');
    return this.#sha;
  }
}
