/** A Lua script. Calls name its hash, see `script-loader.ts`. */
import { parts } from './generated/script-texts.js';

export class Script {
  readonly #name: keyof typeof parts;
  #text: string | undefined;
  readonly sha: string;

  constructor(name: keyof typeof parts, sha: string) {
    this.#name = name;
    this.sha = sha;
  }

  get text(): string {
    return (this.#text ??= parts[this.#name].join(''));
  }
}
