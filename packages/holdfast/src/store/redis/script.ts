/**
 * A Lua script. Calls name it by its hash, so its text is loaded only when a server does not know
 * the hash: a program whose servers know all scripts never reads the texts.
 */
import type { parts } from './generated/script-texts.js';

export class Script {
  readonly #name: keyof typeof parts;
  #text: string | undefined;
  #loading: Promise<string> | undefined;
  /** SHA-1 of the text: the server's name for the script. */
  readonly sha: string;

  constructor(name: keyof typeof parts, sha: string) {
    this.#name = name;
    this.sha = sha;
  }

  /** The complete text, as the server receives it; undefined until `load` has ended. */
  get text(): string | undefined {
    return this.#text;
  }

  load(): Promise<string> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<string> {
    const { parts } = await import('./generated/script-texts.js');
    this.#text = parts[this.#name].join('');
    return this.#text;
  }
}
