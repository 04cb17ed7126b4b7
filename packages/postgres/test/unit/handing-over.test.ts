/** Messages that bring a state: its version proves it. */
import { describe, expect, it } from 'vitest';
import { handedOver, received } from '../../src/handing-over.js';

const KEY = 'holdfast:lock:a \ufeff%0 key\0';
const STATE = '5 1700000000000000 {"lock":{"meta":"\ufeff+ 1 2 % \u{1f512}"}}';
const PUSH = 'g id 5 6 7 8 1 token';

describe('a message', () => {
  it('brings its text, the key, the state and the version', () => {
    const { version, text } = handedOver(PUSH, KEY, STATE);
    expect(version).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(text).not.toContain('\0');
    expect(received(text)).toEqual({ text: PUSH, key: KEY, state: { state: STATE, version } });
  });

  it('of the same state has another version each time', () => {
    const versions = Array.from({ length: 100 }, () => handedOver(PUSH, KEY, STATE).version);
    expect(new Set(versions).size).toBe(100);
  });

  it.each([
    ['the state', (text: string) => text.replace('1700', '1800')],
    ['the key', (text: string) => text.replace('a %FF', 'b %FF')],
    ['the secret', (text: string) => text.replace(/^\+./, (one) => (one === '+0' ? '+1' : '+0'))],
    ['where the key ends', (text: string) => text.replace(/ (\d+) g/, (_, n) => ` ${n - 1} g`)],
  ])('with another text of %s has another version', (_, changed) => {
    const { version, text } = handedOver(PUSH, KEY, STATE);
    const other = changed(text);
    expect(other).not.toBe(text);
    expect(received(other)?.state.version).not.toBe(version);
  });

  it.each([PUSH, 'holdfast echo', '', '+', '+ 1 2 x', 'r id'])('%j brings none', (text) => {
    expect(received(text)).toBeUndefined();
  });
});
