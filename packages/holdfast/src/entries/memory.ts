/** The entry `holdfast/memory`: the embedded store. */
export type { HoldfastStore } from '../holdfast-core.js';
export { type EmbeddedStore, memory } from '../memory.js';
