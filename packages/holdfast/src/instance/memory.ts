/** The embedded store, as users create it. */
import type { HoldfastStore } from './holdfast-core.js';
import { MemoryStore } from '../store/memory/memory-store.js';

/** A store in the memory of this process, see {@link memory}. */
export type EmbeddedStore = HoldfastStore;

/**
 * The embedded store. It holds its locks in memory, for the instances in this process that share
 * it. Instances with different prefixes share no locks.
 */
export function memory(): EmbeddedStore {
  return new MemoryStore();
}
