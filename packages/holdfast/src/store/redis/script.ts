/**
 * A Lua script. Calls name it by its hash; its text is sent only when a server does not know the
 * hash.
 */
import { parts } from './generated/script-texts.js';

export class Script {
  readonly #name: keyof typeof parts;
  #text: string | undefined;
  /** The hash of the text: the server's name for the script. */
  readonly sha: string;

  constructor(name: keyof typeof parts, sha: string) {
    this.#name = name;
    this.sha = sha;
  }

  /** The text as the server receives it. */
  get text(): string {
    return (this.#text ??= parts[this.#name].join(''));
  }
}
