import type { HoldfastStore } from './holdfast-core.js';
import { MemoryStore } from '../store/memory/memory-store.js';

/** See {@link memory}. */
export type EmbeddedStore = HoldfastStore;

/**
 * A store in the memory of this process, for the instances that share it. Instances with different
 * prefixes share no locks.
 */
export function memory(): EmbeddedStore {
  return new MemoryStore();
}
