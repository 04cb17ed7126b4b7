/** Acquisitions that share an abort signal share one listener. */
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { onAbort } from '../../src/base/abort.js';
import { Holdfast, memory } from '../../src/index.js';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

it('a signal that 100 acquisitions share has one listener, and none after they end', async () => {
  await using holdfast = new Holdfast(memory());
  const shutdown = new AbortController();
  const { signal } = shutdown;
  const mutex = holdfast.mutex('shared');
  const held = await mutex.acquire();
  const waiting = Array.from({ length: 100 }, () => mutex.acquire({ signal }));
  const all = Promise.allSettled([
    ...waiting,
    holdfast.latch('latch', { count: 1 }).await({ signal }),
    holdfast.allOf(['shared', 'other']).acquire({ signal }),
    holdfast.election('leader').lead(() => undefined, { signal }),
  ]);
  expect(listeners(signal)).toBe(1);
  shutdown.abort(new Error('shutdown'));
  const outcomes = await all;
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(102);
  expect(listeners(signal)).toBe(0);
  await held.release();
});

it('runs the callbacks in order, once, and skips removed ones', () => {
  const controller = new AbortController();
  const calls: string[] = [];
  const { signal } = controller;
  onAbort(signal, () => {
    calls.push('first');
    second();
  });
  const second = onAbort(signal, () => calls.push('second'));
  const third = onAbort(signal, () => calls.push('third'));
  third();
  onAbort(signal, () => calls.push('fourth'));
  controller.abort();
  expect(calls).toEqual(['first', 'fourth']);
  expect(listeners(signal)).toBe(0);
});

it('removes the listener with the last callback', () => {
  const { signal } = new AbortController();
  const [one, other] = [onAbort(signal, () => undefined), onAbort(signal, () => undefined)];
  one();
  one();
  expect(listeners(signal)).toBe(1);
  other();
  expect(listeners(signal)).toBe(0);
});
