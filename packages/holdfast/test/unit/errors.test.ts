import { describe, expect, it } from 'vitest';
import { badOption, HoldfastError, isHoldfastError, unknownOption } from '../../src/base/errors.js';
import { timedOut } from '../../src/acquire/failures.js';
import { Holdfast, memory } from '../../src/index.js';

describe('an error', () => {
  const cause = new Error('why');
  const error = new HoldfastError('HOLDFAST_LOST', 'gone', { key: 'k', cause });

  it('has a code, a key and its cause', () => {
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'HoldfastError', code: 'HOLDFAST_LOST', key: 'k', cause });
    expect(error.option).toBeUndefined();
  });

  it('has no cause where there is none', () => {
    expect('cause' in new HoldfastError('HOLDFAST_LOST', 'gone')).toBe(false);
  });

  it('is recognised by its code', () => {
    expect(isHoldfastError(error)).toBe(true);
    expect(isHoldfastError(error, 'HOLDFAST_LOST')).toBe(true);
    expect(isHoldfastError(error, 'HOLDFAST_TIMEOUT')).toBe(false);
  });

  it('is recognised when another installed copy of the library created it', () => {
    class Copy extends Error {
      readonly code = 'HOLDFAST_LOST';
    }
    const copy = new Copy('gone');
    expect(isHoldfastError(copy)).toBe(false);
    expect(copy).not.toBeInstanceOf(HoldfastError);
    Object.defineProperty(copy, Symbol.for('holdfast.error'), { value: true });
    expect(isHoldfastError(copy, 'HOLDFAST_LOST')).toBe(true);
    expect(copy).toBeInstanceOf(HoldfastError);
  });

  it.each([undefined, null, 'HOLDFAST_LOST', 7, {}, { code: 'HOLDFAST_LOST' }])(
    'is not %j',
    (other) => {
      expect(isHoldfastError(other)).toBe(false);
    },
  );
});

it.each([
  ['x'.repeat(100), `"${'x'.repeat(40)}…"`],
  [null, 'null'],
  [undefined, 'undefined'],
  [[], 'an array of 0'],
  [[1], 'an array of 1'],
  [{ a: 1 }, 'an object'],
  [() => 1, 'a function'],
  [Number.NaN, 'NaN'],
  [10n, '10'],
  [Symbol('s'), 'Symbol(s)'],
  [-0.5, '-0.5'],
])('a bad option is shown briefly: %o', (value, shown) => {
  const error = badOption('ttl', 'a number', value);
  expect(error).toMatchObject({ code: 'HOLDFAST_BAD_OPTION', option: 'ttl' });
  expect(error.message).toContain(`Holdfast: option "ttl" must be a number, not ${shown} (see`);
});

it.each([
  [() => new Holdfast(memory()).allOf([]), '1 to 10000 keys or mutexes, not an array of 0 ('],
  [
    () => new Holdfast(memory(), { closeOnSignals: ['TERM' as 'SIGTERM', 'SIGTERM'] }),
    'an array of signals that the main thread can handle, not "TERM" (',
  ],
  [() => new Holdfast(memory()).latch('k', undefined as never), '"count" must be'],
])('an array or a missing number is named, not the object around it (%#)', (call, text) => {
  expect(call).toThrow(text);
});

it('a limit of a wait is shown without fractions that clocks add', () => {
  expect(timedOut('k', 99.995).message).toContain('not granted within 100 ms');
});

describe('an unknown option', () => {
  const names = ['ttl', 'renew', 'wait', 'maxHold', 'maxQueue', 'sharedBy'];

  it.each([
    ['ttll', '; did you mean "ttl"?'],
    ['owner', '; did you mean "sharedBy"?'],
    ['TTL', '; did you mean "ttl"?'],
    ['renewal', '; did you mean "renew"?'],
    ['maxhold', '; did you mean "maxHold"?'],
    ['max', '; did you mean "maxHold" or "maxQueue"?'],
    ['timeout', ''],
    ['x', ''],
  ])('%s is reported with the nearest ones', (option, hint) => {
    const all = `(the options are ${names.join(', ')})`;
    const message = `Holdfast: unknown option "${option}"${hint} ${all}`;
    const error = unknownOption(option, names);
    expect([error.message, error.option]).toEqual([`${message} (see ${error.page})`, option]);
  });
});
