/** The entry `holdfast/core`: an instance without locks. */
export type { Clock, Timer } from '../clock.js';
export { HoldfastError, type HoldfastErrorCode, isHoldfastError } from '../errors.js';
export { type CoreOptions, HoldfastCore, type HoldfastStore } from '../holdfast-core.js';
export type { HoldfastOptions } from '../options.js';
