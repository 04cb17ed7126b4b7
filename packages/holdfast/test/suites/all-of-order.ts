/**
 * Callers that name the same keys in different orders: each lock is exclusive, and none deadlocks.
 */
import { expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { circle } from '../support/waits-for.js';
import { freshKeys, turn, Watch } from './helpers.js';

const TASKS = 3;
const TIMES = 6;

/** Acquires sets of locks repeatedly, and records whether another task holds one of them. */
async function task(
  holdfast: Holdfast,
  label: string,
  sets: readonly (readonly string[])[],
  watches: ReadonlyMap<string, Watch>,
): Promise<void> {
  for (const keys of sets) {
    await holdfast.allOf(keys, { label }).run(async (lease) => {
      const visits = lease.keys.map((key) =>
        (watches.get(key) as Watch).visit(lease.fences.get(key) as number),
      );
      await Promise.all(visits);
    });
  }
}

export function allOfOrder(backend: Backend): void {
  // a lease that was handed on inside its process still shows the label of its first task, so the
  // waits of tasks can be read only without such hand-offs
  it.each([
    ['with local hand-offs', {}],
    ['without local hand-offs, and no tasks wait in a circle', { localHandOffs: 0 }],
  ])('serves opposite orders of keys one at a time, %s', async (_, options) => {
    const keys = freshKeys(5);
    const watches = new Map(keys.map((key) => [key, new Watch()]));
    const instances = await Promise.all(Array.from({ length: 3 }, () => backend.make(options)));
    const work = instances.flatMap((holdfast, at) =>
      Array.from({ length: TASKS }, (_, number) => {
        // all keys forwards and backwards, and subsets that overlap
        const turned = keys.map((_key, index) => keys[(index + at + number) % 5] as string);
        const sets = Array.from({ length: TIMES }, (_set, time) => {
          const some = turned.slice(0, 2 + ((time + number) % 4));
          return (at + time) % 2 === 0 ? some : some.reverse();
        });
        return task(holdfast, `${at}.${number}`, sets, watches);
      }),
    );
    let going = true;
    const circles: string[][] = [];
    // the commands of one turn on different keys are executed in any order, so a lock may be
    // awaited for a moment before a later one is released
    const remote = { redis: 20, sentinel: 20, cluster: 20 };
    const registers = { quorum: 1000, postgres: 1000, sqlite: 1000, etcd: 1000 };
    const looks = { memory: 1, register: 20, ...remote, ...registers }[backend.store];
    const watching = (async () => {
      for (let seen = 0; going && 'localHandOffs' in options; ) {
        const found = await circle(instances[0] as Holdfast, keys);
        seen = found === undefined ? 0 : seen + 1;
        if (found !== undefined && seen >= looks) circles.push(found);
        await turn();
      }
    })();
    await Promise.all(work).finally(() => {
      going = false;
    });
    await watching;
    for (const watch of watches.values()) {
      expect(watch).toMatchObject({ most: 1, ascending: true });
      expect(watch.fences.length).toBeGreaterThan(TIMES);
    }
    expect(circles).toEqual([]);
    for (const key of keys) expect(await instances[0]?.inspect(key)).toBeNull();
  });

  it('excludes callers that acquire only one of the keys', async () => {
    const keys = freshKeys(3);
    const watches = new Map(keys.map((key) => [key, new Watch()]));
    const [one, other] = [await backend.make(), await backend.make()];
    const alone = keys.map(async (key) => {
      for (let time = 0; time < 10; time++) {
        await other.mutex(key).run(({ fence }) => (watches.get(key) as Watch).visit(fence));
      }
    });
    const sets = Array.from({ length: 5 }, () => keys);
    await Promise.all([...alone, task(one, 'all', sets, watches)]);
    for (const watch of watches.values()) {
      expect(watch).toMatchObject({ most: 1, ascending: true });
      expect(watch.fences).toHaveLength(15);
    }
  });
}
