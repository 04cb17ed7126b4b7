/**
 * A module that is loaded at its first use, because most programs do not use it.
 *
 * A module that is loaded already is there at once: after `preload` (`preload.ts`) the order of
 * events does not depend on the file system.
 */
export class Later<T> {
  readonly #load: () => Promise<T>;
  #module: T | undefined;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  get(): T | Promise<T> {
    return this.#module ?? this.load();
  }

  async load(): Promise<T> {
    this.#module ??= await this.#load();
    return this.#module;
  }
}
