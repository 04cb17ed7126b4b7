import { known, whole } from '../base/checks.js';
import { badOption } from '../base/errors.js';
import type { Register } from '../store/register/register.js';
import { RegisterStore } from '../store/register/register-store.js';
import type { HoldfastStore } from './holdfast-core.js';

const METHODS = ['read', 'swap', 'scan'] as const;
const OPTIONAL = [
  ...(['listen', 'readMany', 'swapMany', 'overtake', 'handsOver', 'alive'] as const),
  ...(['examine', 'trouble', 'close'] as const),
];

/** Options of `register`. */
export interface RegisterOptions {
  /**
   * The longest time of a call of the register, in ms; then it counts as unanswered. 100 to
   * 600,000; default 5,000. `Infinity` for a register that ends each of its calls itself.
   */
  readonly timeout?: number | undefined;
}

const OPTIONS: ReadonlySet<string> = new Set(['timeout']);

/**
 * The store on a register: `new Holdfast(register(port))`. All locks, queues and fences work on it.
 * Instances that share the result, or have equal registers on the same data, share locks.
 * @throws HOLDFAST_BAD_OPTION if a member of `port` is missing or has a wrong type, or an option is
 *   not valid
 */
export function register(port: Register, options: RegisterOptions = {}): HoldfastStore {
  if (typeof port !== 'object' || port === null) throw badOption('port', 'a register', port);
  const { label, stateMax } = port;
  if (typeof label !== 'string' || label === '') {
    throw badOption('port.label', 'a non-empty string', label);
  }
  for (const name of METHODS) {
    if (typeof port[name] !== 'function') throw badOption(`port.${name}`, 'a method', port[name]);
  }
  for (const name of OPTIONAL) {
    const method: unknown = port[name];
    if (method !== undefined && typeof method !== 'function') {
      throw badOption(`port.${name}`, 'a method or left out', method);
    }
  }
  whole('port.stateMax', stateMax, 1024, 1024, Number.MAX_SAFE_INTEGER);
  known('options', options, OPTIONS);
  if (options.timeout === Infinity) return new RegisterStore(port);
  const timeout = whole('timeout', options.timeout, 5000, 100, 600_000);
  return new RegisterStore(port, { timeout });
}
