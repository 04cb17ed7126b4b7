/** Hash slots. `cluster.test.ts` compares more of them with a server. */
import { expect, it } from 'vitest';
import { slotOf } from '../../../src/store/redis/hash-slot.js';

it('are those of CRC16', () => {
  expect(slotOf('123456789')).toBe(0x31c3);
  expect(slotOf('')).toBe(0);
});

it.each([
  ['{123456789}a', 0x31c3],
  ['a{123456789}', 0x31c3],
  ['a{123456789}{b}', 0x31c3],
  ['a{123456789}}', 0x31c3],
  ['}{123456789}', 0x31c3],
  ['{}', slotOf('{}')],
  ['{}{123456789}', slotOf('{}{123456789}')],
])('respect the hash tag of %s', (name, slot) => {
  expect(slotOf(name)).toBe(slot);
});
