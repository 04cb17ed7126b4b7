/**
 * A Lua script. Calls name it by its hash; its text is sent only when a server does not know the
 * hash.
 */
import { Later } from '../../later.js';
import type * as Module from './generated/script-texts.js';

/** The texts of all scripts. */
export const TEXTS: Later<typeof Module> = new Later(() => import('./generated/script-texts.js'));

export class Script {
  readonly #name: keyof typeof Module.parts;
  #text: string | undefined;
  /** SHA-1 of the text: the server's name for the script. */
  readonly sha: string;

  constructor(name: keyof typeof Module.parts, sha: string) {
    this.#name = name;
    this.sha = sha;
  }

  /** The complete text, as the server receives it; undefined until `load` has ended. */
  get text(): string | undefined {
    return this.#text;
  }

  async load(): Promise<string> {
    const { parts } = await TEXTS.get();
    this.#text ??= parts[this.#name].join('');
    return this.#text;
  }
}
