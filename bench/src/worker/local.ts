/** Locks within one process, and two planted libraries with which the tests check the bench. */
import type { Held, Library } from './library.js';

const close = (): Promise<void> => Promise.resolve();
const NOTHING: Held = { release: () => Promise.resolve() };

/** A chain of promises for each key. */
export function openChain(): Library {
  const ends = new Map<string, Promise<void>>();
  return {
    acquire: async (key) => {
      const before = ends.get(key);
      let end = (): void => undefined;
      ends.set(
        key,
        new Promise<void>((resolve) => {
          end = resolve;
        }),
      );
      await before;
      return { release: async () => end() };
    },
    close,
  };
}

/** Grants every request at once: the exclusion check must find it. */
export function openCheat(): Library {
  return { acquire: () => new Promise((resolve) => setTimeout(resolve, 1, NOTHING)), close };
}

/** Stops answering after its first grants: the time limit must end it. */
export function openHang(): Library {
  let grants = 0;
  return {
    acquire: () => (grants++ < 3 ? Promise.resolve(NOTHING) : new Promise(() => undefined)),
    close,
  };
}
