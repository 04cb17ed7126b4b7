/** Names of keys: unique for each key, in one slot, and found by pattern. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { channelOf, keyOf, keysOf, scanPattern } from '../../../src/store/redis/keys.js';

const odd = fc.string({
  unit: fc.constantFrom('{', '}', '\\', ':', 'q', 'x', 'a', '*', 'é', '😀'),
});
const key = fc.oneof(odd, fc.string({ unit: 'grapheme' })).filter((text) => text !== '');
const prefix = fc.constantFrom('holdfast:', '', 'a[b]*:', 'p\\');

/** The part that Redis Cluster hashes: the text in the first braces, unless it is empty. */
function tagOf(name: string): string {
  const open = name.indexOf('{');
  const close = name.indexOf('}', open + 1);
  return open === -1 || close <= open + 1 ? name : name.slice(open + 1, close);
}

describe('the names of a key', () => {
  it('decode to the key', () => {
    fc.assert(
      fc.property(prefix, key, (start, text) => {
        expect(keyOf(start, keysOf(start, text)[0])).toBe(text);
      }),
    );
  });

  it('differ from the names of other keys', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        fc.pre(a !== b);
        const names = [...keysOf('p:', a), ...keysOf('p:', b)];
        expect(new Set(names).size).toBe(6);
      }),
    );
  });

  it('are in one slot, which depends on the key', () => {
    fc.assert(
      fc.property(key, (text) => {
        const tags = keysOf('holdfast:', text).map(tagOf);
        expect(new Set(tags).size).toBe(1);
        expect(tags[0]).not.toBe('');
        expect(tags[0]).not.toContain('holdfast:');
      }),
    );
  });

  it('are not main records if they belong to other parts', () => {
    const [main, queue, expiries] = keysOf('p:', 'k');
    expect(main).toBe('p:{k}');
    expect([keyOf('p:', queue), keyOf('p:', expiries), keyOf('q:', main)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

it('a pattern matches after the literal prefix', () => {
  expect(scanPattern('holdfast:', 'a*')).toBe('holdfast:{a*}');
  expect(scanPattern('a[b]*?^-\\', 'x')).toBe('a\\[b\\]\\*\\?\\^\\-\\\\{x}');
});

it('a channel has the prefix too', () => {
  expect(channelOf('p:', 'me')).toBe('p:wake:me');
});
