/** Foreign text in messages, and foreign errors as causes. */
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanCause } from '../../src/base/clean-cause.js';
import { HoldfastError, Holdfast, isHoldfastError, memory } from '../../src/index.js';
import { StoreFailure } from '../../src/store/port.js';
import { printable, quote } from '../../src/base/text.js';

/** Characters that control a terminal, end a line, or reverse the text direction. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u;

const odd = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\n', '\r', '\x1b', '\x9b', '\x7f', '"', '\\', '\u202e', '\u2066', '\u2028'),
    fc.constantFrom('\ud83d', '\udc4d', '\u{e0041}', 'a', 'é', '👍'),
  ),
  maxLength: 200,
});

describe('a quoted text', () => {
  it('contains no control character, and has a limited length', () => {
    fc.assert(
      fc.property(odd, (text) => {
        expect(quote(text)).not.toMatch(UNSAFE);
        expect(printable(text)).not.toMatch(UNSAFE);
        expect(quote(text).slice(1, -1)).not.toMatch(/(?<!\\)(?:\\\\)*"/);
        expect(quote('\u{e0041}'.repeat(999)).length).toBeLessThan(1000);
      }),
    );
  });

  it.each([
    ['invoice:42', '"invoice:42"'],
    ['a "b" \\', '"a \\"b\\" \\\\"'],
    ['a\nb\x1b[31m', '"a\\nb\\u001b[31m"'],
    ['\u202egpj', '"\\u202egpj"'],
    ['x'.repeat(101), `"${'x'.repeat(100)}…"`],
    ['schlüssel 👍', '"schlüssel 👍"'],
  ])('shows %j as %s', (text, shown) => {
    expect(quote(text)).toBe(shown);
  });
});

describe('messages', () => {
  const hostile = 'k\n2026-01-01 ERROR forged\x1b[2J\u202e';

  it('show a hostile key in one harmless line, and keep the key itself unchanged', async () => {
    const holdfast = new Holdfast(memory());
    const lease = await holdfast.mutex(hostile).acquire();
    const errors = await Promise.all([
      holdfast.mutex(hostile).acquire({ wait: 1 }).catch(String),
      holdfast.semaphore(hostile, { permits: 2 }).acquire().catch(String),
      holdfast
        .latch('l', { count: 1 })
        .await({ wait: hostile as never })
        .catch(String),
      Promise.resolve()
        .then(() => holdfast.mutex('k', { [hostile]: 1 } as never))
        .catch(String),
    ]);
    for (const message of errors) expect(message).not.toMatch(UNSAFE);
    const error = await holdfast
      .mutex(hostile)
      .acquire({ wait: 1 })
      .catch((one: unknown) => one);
    expect(isHoldfastError(error) && error.key).toBe(hostile);
    await lease.release();
  });

  it('are escaped where they are created, by any caller', () => {
    expect(new HoldfastError('HOLDFAST_LOST', `gone\n${hostile}`).message).not.toMatch(UNSAFE);
    expect(new StoreFailure(`ERR ${hostile}`, 'refused', undefined).message).not.toMatch(UNSAFE);
  });
});

describe('the cause of an error', () => {
  it('is a copy without the secrets that a client attaches to its errors', () => {
    const inner = Object.assign(new Error('inner'), { args: ['s3cret'], code: 'ECONNREFUSED' });
    const error = Object.assign(new TypeError('WRONGPASS no\n', { cause: inner }), {
      command: { name: 'auth', args: ['user', 's3cret'] },
      previousErrors: [new Error('s3cret')],
    });
    const copy = cleanCause(error) as Error;
    expect(inspect(copy, { depth: 20, showHidden: true })).not.toContain('s3cret');
    expect(copy).toMatchObject({ name: 'TypeError', message: 'WRONGPASS no\\u000a' });
    expect(copy.cause).toMatchObject({ message: 'inner', code: 'ECONNREFUSED' });
    expect(copy.stack).toContain('text.test.ts');
  });

  it.each([undefined, null, 'text', 7, { args: ['s3cret'] }])(
    'may be a value that is not an error: %j',
    (cause) => {
      const copy = cleanCause(cause);
      expect(copy === undefined).toBe(cause === undefined);
      expect(inspect(copy)).not.toContain('s3cret');
    },
  );

  it('has a limited depth', () => {
    const error = new Error('a');
    error.cause = error;
    expect(inspect(cleanCause(error), { depth: 99 }).match(/\[?cause/gu)?.length).toBeLessThan(9);
  });
});
