/** The embedded store, as users create it. */
import { MemoryStore } from './store/memory/memory-store.js';

/** A store in the memory of this process, see {@link memory}. Only Holdfast calls its methods. */
export interface EmbeddedStore {
  /** The name of the store in messages. */
  readonly label: string;
  /** Executes commands. */
  readonly execute: (...args: never) => unknown;
  /** Opens a channel for pushes. */
  readonly listen: (...args: never) => unknown;
}

/**
 * The embedded store. It holds its locks in memory, for the instances in this process that share
 * it. Instances with different prefixes share no locks.
 */
export function memory(): EmbeddedStore {
  return new MemoryStore();
}
