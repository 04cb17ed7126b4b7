/** The store on a register, as users create it. */
import { whole } from '../base/checks.js';
import { badOption } from '../base/errors.js';
import type { Register } from '../store/register/register.js';
import { RegisterStore } from '../store/register/register-store.js';
import type { HoldfastStore } from './holdfast-core.js';

const METHODS = ['read', 'swap', 'scan'] as const;
const OPTIONAL = [
  ...(['listen', 'readMany', 'swapMany', 'alive', 'examine', 'trouble', 'close'] as const),
];

/**
 * The store on a register: `new Holdfast(register(port))`. All locks, queues and fences work on it.
 * Instances that share the result, or have equal registers on the same data, share locks.
 * @throws HOLDFAST_BAD_OPTION if a member of `port` is missing or has a wrong type
 */
export function register(port: Register): HoldfastStore {
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
  return new RegisterStore(port);
}
