/** Names of locks made of parts. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Holdfast, lockKey, memory } from '../../src/index.js';

it('joins parts with colons, and escapes colons in them', () => {
  expect(lockKey('order', 42, 7n)).toBe('order:42:7');
  expect(lockKey('a:b', '100%')).toBe('a%3Ab:100%25');
});

it('gives different parts different keys', () => {
  const part = fc.string({
    minLength: 1,
    maxLength: 5,
    unit: fc.constantFrom(':', '%', '3', 'A', 'a'),
  });
  const parts = fc.array(part, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      expect(lockKey(...one) === lockKey(...other)).toBe(one.join('\n') === other.join('\n'));
    }),
    { numRuns: 2000 },
  );
});

it.each([[[]], [['']], [['a', '']], [[{}]], [[undefined]], [['x'.repeat(1025)]]])(
  'refuses %j',
  (parts) => {
    expect(() => lockKey(...(parts as string[]))).toThrow(
      expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option: 'parts' }),
    );
  },
);

it('the key of a lock does not contain the character of the keys of markers', async () => {
  const holdfast = new Holdfast(memory());
  const refused = expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option: 'key' });
  const key = 'nightly\u001fslot\u001f4';
  expect(() => holdfast.mutex(key)).toThrow(refused);
  expect(() => holdfast.semaphore(key, { permits: 2 })).toThrow(refused);
  expect(() => lockKey('a', 'b\u001f')).toThrow(/U\+001F/);
  // a marker can be shown
  expect(await holdfast.inspect(key)).toBeNull();
});
