/** The entry `holdfast/memory`: the embedded store. */
export type { HoldfastStore } from './instance/holdfast-core.js';
export { type EmbeddedStore, memory } from './instance/memory.js';
