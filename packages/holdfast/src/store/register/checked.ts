/**
 * Checks a register's answers. A wrong type would not fail at once: a time as text, which many
 * clients return for a 64 bit number, would end leases at a wrong moment.
 */
import { StoreFailure } from '../port.js';
import type { Swapped, Versioned } from './register.js';

/** Throws a `StoreFailure` that names the wrong field. */
export function checkedVersioned<V extends Versioned>(answer: V): V {
  if (typeof answer !== 'object' || answer === null) throw wrong('read', 'an object', answer);
  const { state, version } = answer;
  if (typeof state !== 'string') throw wrong('read', 'a text as `state`', state);
  if (typeof version !== 'string') throw wrong('read', 'a text as `version`', version);
  checkTimes('read', answer);
  return answer;
}

/** Throws a `StoreFailure`: the swap may have taken effect. */
export function checkedSwapped<S extends Swapped>(answer: S): S {
  if (answer === false) return answer;
  if (typeof answer !== 'object' || answer === null) {
    throw wrong('swap', 'an object or false', answer);
  }
  const { version } = answer;
  if (typeof version !== 'string') throw wrong('swap', 'a text as `version`', version);
  checkTimes('swap', answer);
  return answer;
}

function checkTimes(call: string, { time, latest }: Pick<Versioned, 'time' | 'latest'>): void {
  if (!Number.isSafeInteger(time)) {
    throw wrong(call, 'a whole number of microseconds as `time`', time);
  }
  if (latest !== undefined && !Number.isSafeInteger(latest)) {
    throw wrong(call, 'a whole number of microseconds as `latest`', latest);
  }
}

function wrong(call: string, expected: string, got: unknown): StoreFailure {
  const message =
    `the register must return ${expected} from ${call}, ` + `and it was of type ${kind(got)}`;
  return new StoreFailure(message, 'unanswered', undefined);
}

function kind(value: unknown): string {
  if (typeof value === 'number') return `number, ${value}`;
  return value === null ? 'null' : typeof value;
}
