/** Parties that meet once, repeatedly, and with more parties than places. */
import { expect, it } from 'vitest';
import type { Barrier, Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { Phases, NO_POLL, waiting } from './gates-helpers.js';
import { failure, freshKey, later, turn } from './helpers.js';

function makers(backend: Backend): (count: number, parties?: number) => Promise<Barrier[]> {
  return async (count, parties = count) => {
    const key = freshKey();
    const all = await Promise.all(Array.from({ length: count }, () => backend.make(NO_POLL)));
    return all.map((one) => one.barrier(key, { parties }));
  };
}

export function barrierMeets(backend: Backend): void {
  const barriers = makers(backend);

  it('releases all parties when the last arrives, with their arrival order', async () => {
    const [one, two, three] = (await barriers(3)) as [Barrier, Barrier, Barrier];
    const first = one.await();
    await waiting(three, 1);
    const second = two.await();
    await waiting(three, 2);
    const passages = await Promise.all([first, second, three.await()]);
    expect(passages.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(passages.map(({ generation }) => generation)).size).toBe(1);
    expect(await one.waiting()).toBe(0);
  });

  it('keeps parties in step over many generations', async () => {
    const all = await barriers(3, 6);
    const phases = new Phases(6);
    const generations: number[] = [];
    const party = async (barrier: Barrier, number: number): Promise<void> => {
      for (let round = 0; round < 25; round++) {
        phases.next(number);
        await turn();
        const { generation, index } = await barrier.await();
        if (index === 5) generations.push(generation);
      }
    };
    await Promise.all([...all, ...all].map(party));
    expect(phases.most).toBe(1);
    expect(generations).toHaveLength(25);
    expect(generations).toEqual([...new Set(generations)].sort((a, b) => a - b));
  });

  it('control: parties that do not wait are found out of step', () => {
    const phases = new Phases(2);
    phases.next(0);
    phases.next(0);
    expect(phases.most).toBe(2);
  });

  it('makes surplus parties wait for the next generation', async () => {
    const [one, other] = (await barriers(2)) as [Barrier, Barrier];
    const calls = [one, other, one, other, one].map((barrier) => barrier.await());
    let passed = 0;
    for (const call of calls) void call.then(() => (passed += 1));
    await Promise.race(calls);
    await waiting(other, 1);
    const all = await Promise.all([...calls, other.await()]);
    expect(passed).toBe(5);
    const sizes = new Map<number, number>();
    for (const { generation } of all) sizes.set(generation, (sizes.get(generation) ?? 0) + 1);
    expect([...sizes.values()].sort((a, b) => a - b)).toEqual([2, 2, 2]);
  });
}

export function barrierSizes(backend: Backend): void {
  const barriers = makers(backend);

  it('of one party lets it pass', async () => {
    const [barrier] = (await barriers(1)) as [Barrier];
    const first = await barrier.await();
    const second = await barrier.await();
    expect([first.index, second.index]).toEqual([0, 0]);
    expect(second.generation).toBeGreaterThan(first.generation);
  });

  it('accepts another number of parties only while no party waits', async () => {
    const holdfast: Holdfast = await backend.make(NO_POLL);
    const key = freshKey();
    const [two, three] = [2, 3].map((parties) => holdfast.barrier(key, { parties })) as [
      Barrier,
      Barrier,
    ];
    await Promise.all([two.await(), two.await()]);
    expect(await three.waiting()).toBe(0);
    const waits = later(three.await());
    await waiting(three, 1);
    await failure(two.await(), 'HOLDFAST_MISMATCH');
    await three.reset();
    await failure(waits, 'HOLDFAST_BROKEN');
    await failure(holdfast.latch(key, { count: 2 }).countDown(), 'HOLDFAST_MISMATCH');
  });
}
