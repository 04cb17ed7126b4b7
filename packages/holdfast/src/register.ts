/**
 * The entry `holdfast/register`: locks on any place that can read a small text with a version, and
 * replace it if the version has not changed.
 */
export { flag as flagOption, known as knownOptions, whole as wholeOption } from './base/checks.js';
export type { Clock, Timer } from './base/clock.js';
export { badOption } from './base/errors.js';
export type { HoldfastStore } from './instance/holdfast-core.js';
export { register, type RegisterOptions } from './instance/register.js';
export type { Finding, FindingCode, FindingSeverity } from './store/finding.js';
export type { TimeLimit } from './store/port.js';
export { Collector, type CollectorTerms } from './store/register/collector.js';
export {
  keepListening,
  type WakeConnection,
  type WakeTerms,
} from './store/register/keep-listening.js';
export { type NamedLease, standingOf } from './store/register/held-back.js';
export { MemoryRegister } from './store/register/memory-register.js';
export { nameOf } from './store/register/names.js';
export type {
  Change,
  HandedOver,
  Message,
  MessageListener,
  Register,
  Scanned,
  Swap,
  Swapped,
  Versioned,
} from './store/register/register.js';
export {
  isRegisterError,
  RegisterError,
  type RegisterErrorKind,
} from './store/register/register-error.js';
