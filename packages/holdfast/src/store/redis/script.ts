/**
 * A Lua script as the server receives it. Its text is composed from shared parts on first use, so
 * the package contains each part once.
 */
import { createHash } from 'node:crypto';

export class Script {
  readonly #parts: readonly string[];
  #source: string | undefined;
  #sha: string | undefined;

  constructor(parts: readonly string[]) {
    this.#parts = parts;
  }

  /** The complete text. */
  get source(): string {
    this.#source ??= this.#parts.join('');
    return this.#source;
  }

  /** SHA-1 of `source`: the server's name for the script. */
  get sha(): string {
    this.#sha ??= createHash('sha1').update(this.source).digest('hex');
    return this.#sha;
  }
}
