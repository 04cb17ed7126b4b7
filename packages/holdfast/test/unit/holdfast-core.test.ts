/** The instance without locks, and the mutex that a function makes. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HoldfastCore } from '../../src/core.js';
import { memory } from '../../src/memory.js';
import { createMutex } from '../../src/mutex.js';
import { Holdfast } from '../../src/index.js';

const store = memory();
let small: HoldfastCore;
let whole: Holdfast;

beforeEach(() => {
  small = new HoldfastCore(store);
  whole = new Holdfast(store);
});
afterEach(() => Promise.all([small.close(), whole.close()]));

it('shares its locks with a Holdfast on the same store', async () => {
  await createMutex(small, 'k').run(async () => {
    expect(await whole.mutex('k').tryAcquire()).toBeNull();
  });
  const lease = await whole.mutex('k').tryAcquire();
  expect(await createMutex(small, 'k').tryAcquire()).toBeNull();
  expect(await lease?.release()).toBe('freed');
});

it('honours the prefix', async () => {
  const other = new HoldfastCore(store, { prefix: 'other:' });
  await createMutex(small, 'k').run(async () => {
    expect(await createMutex(other, 'k').run(() => 1)).toBe(1);
  });
  await other.close();
});

it('gives a mutex that allOf of a Holdfast accepts', async () => {
  await using lease = await whole.allOf([createMutex(whole, 'a'), 'b']).acquire();
  expect(lease.held).toBe(true);
});

it('rejects with HOLDFAST_CLOSED after close', async () => {
  await small.close();
  const acquiring = createMutex(small, 'k').acquire();
  await expect(acquiring).rejects.toMatchObject({ code: 'HOLDFAST_CLOSED' });
});

describe('refuses', () => {
  const refusal = (call: () => unknown): unknown => {
    try {
      return call();
    } catch (error) {
      const { code, option } = error as { code: unknown; option: unknown };
      return [code, option];
    }
  };

  it.each<[string, () => unknown]>([
    ['store', () => new HoldfastCore({} as never)],
    ['store', () => new HoldfastCore(undefined as never)],
    ['closeOnSignals', () => new HoldfastCore(store, { closeOnSignals: ['SIGTERM'] } as object)],
    ['ttl', () => new HoldfastCore(store, { ttl: -1 })],
    ['holdfast', () => createMutex({} as never, 'k')],
    ['key', () => createMutex(small, '')],
  ])('a wrong %s', (option, call) => {
    expect(refusal(call)).toEqual(['HOLDFAST_BAD_OPTION', option]);
  });
});
