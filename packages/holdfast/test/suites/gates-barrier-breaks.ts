/** Parties that cancel: the others are told, and the next generation starts clean. */
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import type { Barrier, Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { NO_POLL, waiting } from './gates-helpers.js';
import { failure, freshKey, later } from './helpers.js';

export function barrierBreaks(backend: Backend): void {
  const make = async (): Promise<[Holdfast, Barrier, Barrier]> => {
    const [one, other] = await Promise.all([backend.make(NO_POLL), backend.make(NO_POLL)]);
    const key = freshKey();
    return [one, one.barrier(key, { parties: 3 }), other.barrier(key, { parties: 3 })];
  };
  const meet = async (...barriers: Barrier[]): Promise<void> => {
    await Promise.all(barriers.map((barrier) => barrier.await()));
  };

  it('tells the others when a party reaches its wait limit', async () => {
    const [, near, far] = await make();
    // from then on each party knows its generation, and its first request is its arrival
    await meet(near, far, far);
    const waits = later(far.await());
    await waiting(near, 1);
    await failure(near.await({ wait: 10 }), 'HOLDFAST_TIMEOUT');
    expect((await failure(waits, 'HOLDFAST_BROKEN')).message).toContain('gave up');
    await meet(near, far, far);
  });

  it('tells the others when a party aborts', async () => {
    const [, near, far] = await make();
    const stop = new AbortController();
    const aborts = later(near.await({ signal: stop.signal }));
    const waits = later(far.await());
    await waiting(far, 2);
    stop.abort();
    await failure(aborts, 'HOLDFAST_ABORTED');
    await failure(waits, 'HOLDFAST_BROKEN');
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    await meet(near, far, far);
  });

  it('is not broken by a party that aborted before it arrived', async () => {
    const [, near, far] = await make();
    const waits = [later(far.await()), later(far.await())];
    await waiting(near, 2);
    await failure(near.await({ signal: AbortSignal.abort() }), 'HOLDFAST_ABORTED');
    await near.await();
    await Promise.all(waits);
  });

  it('tells the others when an instance closes', async () => {
    const [holdfast, near, far] = await make();
    const closes = later(near.await());
    const waits = later(far.await());
    await waiting(far, 2);
    await holdfast.close();
    await failure(closes, 'HOLDFAST_CLOSED');
    await failure(waits, 'HOLDFAST_BROKEN');
    await failure(near.await(), 'HOLDFAST_CLOSED');
    expect(await far.waiting()).toBe(0);
  });

  it('can be reset by any instance', async () => {
    const [, near, far] = await make();
    await near.reset();
    const waits = [later(far.await()), later(near.await())];
    await waiting(near, 2);
    await near.reset();
    for (const one of waits) {
      expect((await failure(one, 'HOLDFAST_BROKEN')).message).toContain('reset');
    }
    await meet(near, far, far);
  });
}
