/** The page about testing (docs/testing.md): the embedded store works with fake timers. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Holdfast, memory } from '../../src/index.js';

let holdfast: Holdfast;

beforeEach(() => {
  vi.useFakeTimers();
  holdfast = new Holdfast(memory());
});
afterEach(async () => {
  vi.useRealTimers();
  await holdfast.close({ grace: 0 });
});

it('a lease without renewal ends after its ttl', async () => {
  const lease = await holdfast.mutex('report').acquire({ ttl: 10_000, renew: false });
  expect(await holdfast.mutex('report').tryAcquire()).toBeNull();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lease.held).toBe(false);
  expect(await holdfast.mutex('report').tryAcquire()).not.toBeNull();
});

it('a lease is renewed while it is held', async () => {
  const lease = await holdfast.mutex('report').acquire({ ttl: 10_000 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lease.held).toBe(true);
});

it('the code under test sees the loss of its lock', async () => {
  const work = holdfast.mutex('report').run(async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  const lost = expect(work).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
  await vi.advanceTimersByTimeAsync(0);
  const forced = holdfast.forceRelease('report');
  await vi.advanceTimersByTimeAsync(10_000);
  expect((await forced).ended).toBe(1);
  await lost;
});

it('a program that loads it under fake timers may use real ones later', async () => {
  vi.resetModules();
  const library = await import('../../src/index.js');
  vi.useRealTimers();
  const late = new library.Holdfast(library.memory());
  // many in one turn wait for the next one
  const keys = Array.from({ length: 500 }, (_, at) => `k${at}`);
  const held = await Promise.all(keys.map((key) => late.mutex(key).run(({ held }) => held)));
  expect(new Set(held)).toEqual(new Set([true]));
  await late.close({ grace: 0 });
});
