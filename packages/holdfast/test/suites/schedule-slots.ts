/** A slot has one run, for any number of machines and at any distance in time. */
import { paced, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import { markerKey } from '../../src/base/marker-key.js';
import type { Backend } from '../support/backends.js';
import { aborted, failure, fenceOf, freshKey, turn, unused } from './helpers.js';

const LONG = 60_000;

/**
 * Fires the same slots on all instances, some at once and some late. Returns the runs of each slot.
 */
async function fire(
  instances: readonly Holdfast[],
  key: string,
  slots: readonly string[],
  { named }: { named: boolean },
): Promise<number[]> {
  const runs = new Map<string, number>();
  const machine = async (holdfast: Holdfast, late: number): Promise<void> => {
    for (const slot of slots) {
      for (let turns = 0; turns < late * 20; turns++) await turn();
      const work = (): void => void runs.set(slot, (runs.get(slot) ?? 0) + 1);
      const options = { wait: LONG, ...(named && { slot }) };
      await holdfast.schedule(key, { atLeast: 0 }).runOnce(work, options);
    }
  };
  await Promise.all(instances.flatMap((one, at) => [machine(one, at), machine(one, at + 5)]));
  return slots.map((slot) => runs.get(slot) ?? 0);
}

export function scheduleSlots(backend: Backend): void {
  it('has one run among many machines', async () => {
    const instances = await Promise.all(Array.from({ length: 3 }, () => backend.make()));
    const slots = ['1', '2', '3', '4'];
    expect(await fire(instances, freshKey(), slots, { named: true })).toEqual([1, 1, 1, 1]);
  });

  it("control: without the slot's name there are many runs", async () => {
    const instances = await Promise.all(Array.from({ length: 3 }, () => backend.make()));
    const runs = await fire(instances, freshKey(), ['1'], { named: false });
    expect(runs[0]).toBeGreaterThan(1);
  });

  it('stays taken long after its run, also when every instance has closed', async () => {
    const [one, other] = [await backend.make({ label: 'one' }), await backend.make()];
    const key = freshKey();
    const options = { atLeast: 0 };
    const first = await one.schedule(key, options).runOnce(({ slot }) => slot, { slot: 'a' });
    expect(first).toMatchObject({ ran: true, value: 'a' });
    await one.close();
    const again = await other.schedule(key, options).runOnce(() => 1, { slot: 'a', wait: LONG });
    expect(again).toMatchObject({ ran: false, reason: 'slot-taken', holder: { label: 'one' } });
    const next = await other.schedule(key, options).runOnce(() => 2, { slot: 'b' });
    expect(next).toMatchObject({ ran: true, value: 2 });
    expect(fenceOf(next)).toBeGreaterThan(fenceOf(first));
  });

  ambiguousNames(backend);
  slotStates(backend);

  it('is forgotten after its retention', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const schedule = one.schedule(freshKey(), { atLeast: 0, retention: paced(100) });
    await schedule.runOnce(() => 1, { slot: 'a' });
    // its marker is a lease without renewal
    await unused(other, markerKey(schedule.key, 'a'));
    // each process of a quorum has its own bounds of the clock
    const again = async (): Promise<boolean> =>
      (await schedule.runOnce(() => 2, { slot: 'a' })).ran;
    await until(again, { what: 'the slot is forgotten' });
  });

  it('is not taken by a run that finds the lock held', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const options = { atLeast: 0 };
    const outcome = await one.schedule(key, options).runOnce(
      async () => {
        const busy = await other.schedule(key, options).runOnce(() => 1, { slot: 'b' });
        expect(busy).toMatchObject({ ran: false, reason: 'busy', slot: 'missed' });
      },
      { slot: 'a' },
    );
    expect(outcome.ran).toBe(true);
    const later = await other.schedule(key, options).runOnce(() => 2, { slot: 'b' });
    expect(later).toMatchObject({ ran: true, value: 2 });
  });
}

function ambiguousNames(backend: Backend): void {
  it('differs from a slot of another schedule with the same joined text', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const pairs = [
      [key, 'a#b'],
      [`${key}#a`, 'b'],
      [key, 'a#1#b#3'],
      [`${key}#a#1`, 'b#3'],
      [key, 'a#b#1'],
      [`${key}#a#b`, '1'],
    ] as const;
    for (const [name, slot] of pairs) {
      const ran = await one.schedule(name, { atLeast: 0 }).runOnce(() => 1, { slot });
      expect(ran, `${name}, ${slot}`).toMatchObject({ ran: true });
    }
    for (const [name, slot] of pairs) {
      const again = await other.schedule(name, { atLeast: 0 }).runOnce(() => 1, { slot });
      expect(again, `${name}, ${slot}`).toMatchObject({ reason: 'slot-taken' });
    }
  });
}

function slotStates(backend: Backend): void {
  it('tells a skipped call what became of its slot', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const skipped = async (slot: string): Promise<unknown> => {
      const outcome = await other.schedule(key, { atLeast: 0 }).runOnce(() => 1, { slot });
      return outcome.ran ? 'ran' : outcome.slot;
    };
    const schedule = one.schedule(key, { atLeast: 0 });
    const during = await schedule.runOnce(() => skipped('a'), { slot: 'a' });
    expect(during).toMatchObject({ value: 'running' });
    expect(await skipped('a')).toBe('done');
    const failing = (): never => {
      throw new Error('no paper');
    };
    await expect(schedule.runOnce(failing, { slot: 'b' })).rejects.toThrow('no paper');
    expect(await skipped('b')).toBe('failed');
    const short = one.schedule(key, { atLeast: 0, ttl: paced(900) });
    const lost = short.runOnce(
      async ({ signal }) => {
        await other.forceRelease(key);
        await aborted(signal);
      },
      { slot: 'c' },
    );
    await failure(lost, 'HOLDFAST_LOST');
    expect(await skipped('c')).toBe('unfinished');
    // the next run holds the lock, but it is not the run of the slot
    const next = await schedule.runOnce(() => skipped('c'), { slot: 'd' });
    expect(next).toMatchObject({ value: 'unfinished' });
  });

  it('tells machines that fire at the same time that the slot runs', async () => {
    const instances = await Promise.all(Array.from({ length: 4 }, () => backend.make()));
    const key = freshKey();
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const states: unknown[] = [];
    const fired = instances.map(async (one) => {
      const outcome = await one
        .schedule(key, { atLeast: 0 })
        .runOnce(() => finished, { slot: 'a' });
      if (outcome.ran) return;
      states.push(outcome.slot);
      if (states.length === 3) finish();
    });
    await Promise.all(fired);
    expect(states).toEqual(['running', 'running', 'running']);
  });

  it('keeps its markers out of the list', async () => {
    const holdfast = await backend.make();
    const key = freshKey('listed');
    await holdfast.schedule(key, { atLeast: 0 }).runOnce(() => 1, { slot: 'a' });
    const keys = async (markers?: boolean): Promise<string[]> => {
      const found: string[] = [];
      for await (const lock of holdfast.list(`${key}*`, { markers })) found.push(lock.key);
      return found;
    };
    expect(await keys()).toEqual([]);
    expect((await keys(true)).length).toBe(2);
  });
}
