/** The arguments of `instrument`, and a `lockName` that fails. */
import { Holdfast, memory } from 'holdfast';
import { describe, expect, it, vi } from 'vitest';
import { instrument, type InstrumentOptions } from '../../src/index.js';

describe('refuses', () => {
  it.each<[string, unknown, unknown]>([
    ['maxLockName', { maxLockName: 5 }, new Holdfast(memory())],
    ['maxLockNames', { maxLockNames: 'x' }, new Holdfast(memory())],
    ['holderAfter', { holderAfter: -1 }, new Holdfast(memory())],
    ['lockName', { lockName: 'invoice' }, new Holdfast(memory())],
    ['requireParentSpan', { requireParentSpan: 1 }, new Holdfast(memory())],
    ['holdfast', {}, undefined],
    ['holdfast', {}, {}],
  ])('%s: %j', (option, options, holdfast) => {
    const call = (): unknown => instrument(holdfast as Holdfast, options as InstrumentOptions);
    expect(call).toThrow(expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option }));
  });

  it('nothing that is right', () => {
    const holdfast = new Holdfast(memory());
    instrument(holdfast, { maxLockNames: undefined, holderAfter: Number.POSITIVE_INFINITY })();
  });
});

it.each([
  ['throws', () => JSON.parse('no JSON') as string, 'SyntaxError'],
  ['returns no text', () => undefined as never, 'it returned undefined'],
] as const)('a `lockName` that %s ends no call, and is told once', async (_, lockName, text) => {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  const uncaught = vi.fn();
  process.once('uncaughtException', uncaught);
  const holdfast = new Holdfast(memory());
  const stop = instrument(holdfast, { lockName });
  expect(await holdfast.mutex('a').run(() => 1)).toBe(1);
  expect(await holdfast.mutex('b').run(() => 2)).toBe(2);
  await new Promise(setImmediate);
  stop();
  process.off('uncaughtException', uncaught);
  expect(uncaught).not.toHaveBeenCalled();
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining(text), { code: 'HOLDFAST_LOCK_NAME' }],
  ]);
  warn.mockRestore();
  await holdfast.close();
});
