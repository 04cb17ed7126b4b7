/** Processes that take turns while members are killed, frozen and started again. */
import type { Holdfast } from 'holdfast';
import { paced, sleep, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { onCluster } from '../support.js';

const test = onCluster({ members: 3, fsync: true });

/** What is seen inside of a lock. */
class Turns {
  readonly faults = new Set<string>();
  count = 0;
  #inside = 0;
  #fence = 0;

  async take(fence: number): Promise<void> {
    if (this.#inside > 0) this.faults.add('overlap');
    if (fence <= this.#fence) this.faults.add('fence');
    this.#fence = Math.max(fence, this.#fence);
    this.count += 1;
    this.#inside += 1;
    await sleep(2);
    this.#inside -= 1;
  }
}

/** Two tasks of an instance. They go on after an outage, until `isOver`. */
async function work(holdfast: Holdfast, turns: Turns, isOver: () => boolean): Promise<void> {
  const task = async (fair: boolean): Promise<void> => {
    while (!isOver()) {
      try {
        await using lease = await holdfast.mutex('turns', { fair }).acquire({ wait: 20_000 });
        await turns.take(lease.fence);
      } catch (error) {
        // the next one may succeed
        expect((error as { code: string }).code).toMatch(/UNCERTAIN|UNREACHABLE|TIMEOUT|LOST/);
        await sleep(20);
      }
    }
  };
  await Promise.all([task(true), task(false)]);
}

it('no two are inside at once, and fences ascend', async () => {
  const turns = new Turns();
  let isOver = false;
  const terms = { ttl: 8000, requestTimeout: 2500 };
  const instances = Array.from({ length: 3 }, () => test.instance(terms, { timeout: 1500 }));
  const working = instances.map((one) => work(one, turns, () => isOver));
  const goesOn = async (): Promise<void> => {
    const { count } = turns;
    await until(() => turns.count > count + 20, { within: 60_000 });
  };
  try {
    await goesOn();
    for (const member of test.cluster.members) {
      await member.kill();
      await goesOn();
      await member.restart();
      member.freeze();
      await goesOn();
      member.resume();
    }
  } finally {
    isOver = true;
    await Promise.all(working);
  }
  expect([...turns.faults]).toEqual([]);
}, 240_000);

it('negative control: processes with other roots get in at the same time', {
  timeout: paced(90_000),
}, async () => {
  const turns = new Turns();
  let isOver = false;
  const instances = ['a/', 'b/'].map((root) => test.instance({ localHandOffs: 0 }, { root }));
  const working = instances.map((one) => work(one, turns, () => isOver));
  try {
    await until(() => turns.faults.size === 2, { within: 60_000 });
  } finally {
    isOver = true;
    await Promise.all(working);
  }
});
