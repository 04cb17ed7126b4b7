/**
 * A module that is loaded at its first use, because most programs do not use it.
 *
 * A module that is loaded already is there at once: after `preload` (`preload.ts`) the order of
 * events does not depend on the file system. A load that fails is repeated by the next use.
 */
import { HoldfastError } from './errors.js';

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
    this.#module ??= await this.#load().catch((cause: unknown) => {
      const message = `Holdfast: ${notLoaded('this call', cause)}`;
      throw new HoldfastError('HOLDFAST_UNREACHABLE', message, { cause });
    });
    return this.#module;
  }
}

/** Says that the code of `what` could not be loaded, why, and what to do. */
export function notLoaded(what: string, cause: unknown): string {
  const why = cause instanceof Error ? cause.message : String(cause);
  return (
    `the code of ${what} was not loaded: ${why}. If the files of this program were replaced ` +
    'while it runs, restart it'
  );
}
