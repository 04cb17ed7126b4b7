/** The entry `holdfast/core`: an instance without locks. */
export type { Clock, Timer } from './base/clock.js';
export { HoldfastError, type HoldfastErrorCode, isHoldfastError } from './base/errors.js';
export { type CoreOptions, HoldfastCore, type HoldfastStore } from './instance/holdfast-core.js';
export type { HoldfastOptions } from './base/options.js';
