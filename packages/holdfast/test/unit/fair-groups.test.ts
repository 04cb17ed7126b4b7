/**
 * Fair tasks of one process: those of one step ask together, and neighbours in the queue of the
 * store are served by one root (decision 26). In virtual time.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { InspectReply } from '../../src/engine/commands.js';
import { adopt, handOver } from '../../src/handover.js';
import { type AcquireOptions, Holdfast, type Lease } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { OPTIONS, RootWorld } from '../support/root-world.js';
import { settle } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let world: RootWorld;
let { clock, store, other } = new RootWorld();
/** With enough hand-offs for all tasks of a test. */
let holdfast: Holdfast;

beforeEach(() => {
  world = new RootWorld();
  ({ clock, store, other } = world);
  holdfast = new Holdfast(store, { ...OPTIONS, clock, localHandOffs: 64 });
});

const take = (options: AcquireOptions = {}, by = holdfast): Promise<Lease> =>
  later(by.mutex('k').acquire({ fair: true, ...options }));
const inspected = (): Promise<InspectReply> => world.inspected();

/** A lease of this process, and tasks that each arrived in a step of its own. */
async function behind(
  count: number,
  by: readonly Holdfast[] = [holdfast],
): Promise<Promise<Lease>[]> {
  const all = [take()];
  await clock.advance(10);
  for (let at = 0; at < count; at++) {
    all.push(take({}, by[at % by.length]));
    await clock.advance(10);
  }
  world.sent();
  return all;
}

describe('fair tasks of one step', () => {
  it('keep their place when one of them waits at a condition', async () => {
    const [first, second, third] = [take(), take(), take()];
    await clock.advance(10);
    const theirs = take({}, other);
    await clock.advance(10);
    await (await first).release();
    const waiting = holdfast
      .mutex('k')
      .condition('c')
      .await(await second, { wait: 1000 });
    const own = third.then(() => 'own');
    expect(await clock.until(Promise.race([own, theirs.then(() => 'theirs')]))).toBe('own');
    await (await third).release();
    await (await theirs).release();
    await clock.until(waiting);
  });

  it('ask with one request, except for the first', async () => {
    const blocker = await other.mutex('k').acquire();
    const all = Array.from({ length: 5 }, () => take());
    await clock.advance(10);
    const { waiters } = await inspected();
    expect(waiters.map(({ tasks }) => tasks)).toEqual([1, 4]);
    await blocker.release();
    const fences: number[] = [];
    for (const one of all) {
      const lease = await one;
      fences.push(lease.fence);
      await lease.release();
    }
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
    expect(new Set(fences).size).toBe(5);
  });

  it('that ask again as they release need one command for all', async () => {
    let left = 30;
    const task = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await (await take()).release();
      }
    };
    await Promise.all(Array.from({ length: 5 }, task));
    const sent = world.sent();
    expect(sent.filter((op) => op === 'turn').length).toBeLessThanOrEqual(30 / 5 + 1);
    expect(sent.length).toBeLessThanOrEqual(30 / 5 + 6);
    expect(await inspected()).toMatchObject({ holders: [], waiters: [] });
  });

  it('are in several groups if the hand-offs of one do not suffice', async () => {
    const few = new Holdfast(store, { ...OPTIONS, clock, localHandOffs: 2 });
    const blocker = await other.mutex('k').acquire();
    const all = Array.from({ length: 8 }, () => take({}, few));
    await clock.advance(10);
    expect((await inspected()).waiters.map(({ tasks }) => tasks)).toEqual([1, 3, 3, 1]);
    await blocker.release();
    for (const one of all) await (await one).release();
  });

  it('are before another request of the same step', async () => {
    const blocker = await take();
    const first = take();
    const all = [take(), take({ sharedBy: 'owner' }), take(), take({ fair: false }), take()];
    await clock.advance(10);
    await blocker.release();
    const order: number[] = [];
    for (const [index, one] of all.entries()) {
      void one.then(async (lease) => {
        order.push(index);
        await lease.release();
      });
    }
    await (await first).release();
    await clock.advance(1000);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  it('end a root that was released in the same step, also if they are gone', async () => {
    const lease = await take();
    const stop = new AbortController();
    const waiting = take({ signal: stop.signal });
    const released = lease.release();
    stop.abort();
    expect(await released).toBe('freed');
    await failure(waiting, 'HOLDFAST_ABORTED');
    await clock.advance(10);
    expect(await inspected()).toMatchObject({ holders: [], waiters: [] });
  });

  it('are rejected by close, and the root that ends with them is released', async () => {
    const lease = await take();
    const waiting = [take(), take()];
    await lease.release();
    const closed = holdfast.close();
    await clock.advance(10);
    await closed;
    for (const one of waiting) await failure(one, 'HOLDFAST_CLOSED');
    expect(await inspected()).toMatchObject({ holders: [], waiters: [] });
  });

  it('get the lease if the end of the root before is lost', async () => {
    const lease = await take();
    const next = take();
    store.ail('turn', 'lost');
    store.ail('release', 'lost');
    expect(await lease.release()).toBe('freed');
    await clock.advance(3000);
    store.heal();
    await clock.advance(3000);
    expect((await next).held).toBe(true);
  });
});

describe('neighbours in the queue', () => {
  it('are served by one root, in their order', async () => {
    const [lease, ...waiting] = await behind(3);
    let last = (await lease) as Lease;
    const root = last.id;
    for (const one of waiting) {
      const fence = last.fence;
      await last.release();
      last = await one;
      expect(last.fence).toBe(fence + 1);
      expect(last.id.startsWith(`${root}/`)).toBe(true);
    }
    await clock.advance(10);
    // their entries leave the queue, and the root goes on
    expect(world.sent()).toEqual(['release', 'release', 'release']);
    expect(await inspected()).toMatchObject({ holders: [{ id: root }], waiters: [] });
    await last.release();
    expect(await inspected()).toMatchObject({ holders: [], waiters: [] });
  });

  it('are not served before an acquisition of another process between them', async () => {
    const all = await behind(6, [holdfast, holdfast, other]);
    const order: number[] = [];
    const done = all.map(async (one, index) => {
      const lease = await one;
      order.push(index);
      await clock.advance(1);
      await lease.release();
    });
    await clock.advance(2000);
    await Promise.all(done);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('are neighbours too when an entry between them was withdrawn', async () => {
    const stop = new AbortController();
    const lease = await take();
    await clock.advance(10);
    const gone = take({ signal: stop.signal });
    await clock.advance(10);
    const next = take();
    await clock.advance(10);
    stop.abort();
    await failure(gone, 'HOLDFAST_ABORTED');
    world.sent();
    await lease.release();
    expect((await next).id).toBe(`${lease.id}/1`);
  });

  it('wait for the store if an entry of another kind is between them', async () => {
    const lease = await take();
    const between = take({ sharedBy: 'owner' });
    await clock.advance(10);
    const last = take();
    await clock.advance(10);
    let granted = false;
    void last.then(() => (granted = true));
    void later(lease.release());
    const owned = await between;
    await settle();
    expect([owned.held, granted]).toEqual([true, false]);
    await owned.release();
    expect((await last).held).toBe(true);
  });

  it('wait for the store if a request for their entry may still arrive', async () => {
    const lease = await take();
    store.ail('acquire', 'answer lost');
    const next = take();
    await clock.advance(1500);
    store.heal();
    await clock.advance(500);
    expect((await inspected()).waiters).toHaveLength(1);
    void later(lease.release());
    await clock.advance(3000);
    expect((await next).id).not.toContain('/');
  });

  it('with other terms are not served by the same root', async () => {
    const lease = await take();
    const next = take({ ttl: 500 });
    await clock.advance(10);
    void later(lease.release());
    expect((await next).id).not.toContain('/');
  });

  it('are served by the store once the fences of a root are used', async () => {
    holdfast = new Holdfast(store, { ...OPTIONS, clock, localHandOffs: 2 });
    const [lease, ...waiting] = await behind(4);
    let last = (await lease) as Lease;
    const ids = [last.id];
    for (const one of waiting) {
      void later(last.release());
      last = await one;
      ids.push(last.id);
    }
    expect(ids.map((id) => id.includes('/'))).toEqual([false, true, true, false, true]);
  });
});

describe('a fair root', () => {
  it('whose lease was extended returns its other tasks to their place', async () => {
    const first = await take();
    const all = [take(), take(), take()];
    await clock.advance(10);
    const foreign = take({}, other);
    await clock.advance(10);
    void later(first.release());
    const second = await (all[0] as Promise<Lease>);
    await second.ensure(3_600_000);
    void later(second.release());
    const third = await (all[1] as Promise<Lease>);
    expect(third.id).not.toContain('/');
    await third.release();
    await ((await all[2]) as Lease).release();
    expect((await foreign).fence).toBeGreaterThan(third.fence);
  });

  it.each([
    [
      'extended',
      (lease: Lease): Promise<unknown> => lease.ensure(3_600_000).then(() => lease.release()),
    ],
    ['handed over', (lease: Lease): Promise<unknown> => adopt(other, handOver(holdfast, lease))],
  ])('whose lease was %s returns them before a group of the same ms', async (_, leave) => {
    const first = await take();
    const all = [take(), take(), take()];
    const short = take({ ttl: 500 });
    await clock.advance(10);
    await clock.advance(0.5);
    void later(first.release());
    const lease = await (all[0] as Promise<Lease>);
    const adopted = (await later(leave(lease))) as Lease | string;
    const order: string[] = [];
    const done = [short, ...all.slice(1)].map(async (one, index) => {
      const granted = await one;
      order.push(index === 0 ? 'short' : 'own');
      await granted.release();
    });
    await clock.advance(10);
    if (typeof adopted !== 'string') await later(adopted.release());
    await clock.advance(3000);
    await Promise.all(done);
    expect(order).toEqual(['own', 'own', 'short']);
  });

  it.each([
    ['came too late', OPTIONS.requestTimeout + 1],
    ['was lost', 'answer lost'],
  ] as const)('returns tasks to their place although the answer with it %s', async (_, fate) => {
    const isLost = fate === 'answer lost';
    store.pushes = isLost;
    if (isLost) await clock.until(holdfast.warmUp());
    const blocker = await clock.until(other.mutex('k').acquire());
    store.ail('acquire', fate);
    const stop = new AbortController();
    // it has an entry of its own
    const first = take({ signal: stop.signal });
    const [second, third] = [take(), take()];
    await clock.advance(10);
    store.heal();
    stop.abort();
    await failure(first, 'HOLDFAST_ABORTED');
    const foreign = take({}, other);
    await clock.advance(isLost ? 10 : OPTIONS.requestTimeout);
    await clock.until(blocker.release());
    const lease = await clock.until(second);
    await clock.until(lease.ensure(3_600_000));
    const order: string[] = [];
    const done = [foreign, third].map(async (one) => {
      const granted = await one;
      order.push(one === foreign ? 'foreign' : 'own');
      await granted.release();
    });
    await clock.until(lease.release());
    await clock.until(Promise.all(done));
    expect(order).toEqual(['own', 'foreign']);
    const tickets = [...store.seen('acquire'), ...store.seen('turn')].map(
      ({ ticket = 0 }) => ticket,
    );
    expect(Math.min(...tickets)).toBe(0);
  });

  it('that is handed off for longer than a claim window stays one root', async () => {
    const first = await take();
    const all = [take(), take(), take()];
    let last = first;
    for (const one of all) {
      await clock.advance(1500);
      await last.release();
      last = await one;
      expect(last.held).toBe(true);
    }
    expect(last.id).toBe(`${first.id}/3`);
  });

  it('that is lost makes its other tasks ask anew, in the place of their arrival', async () => {
    const first = await take();
    const all = [take(), take(), take()];
    await clock.advance(10);
    const foreign = take({}, other);
    await clock.advance(10);
    // of a third process: a neighbour of the task before would be served by its root
    const third = new Holdfast(new WatchedStore(clock, store.inner), { ...OPTIONS, clock });
    const late = take({}, third);
    await clock.advance(10);
    void later(first.release());
    const lost = await (all[0] as Promise<Lease>);
    const force = { op: 'forceRelease', key: 'k', id: first.id, retention: 60_000 } as const;
    await store.inner.execute([force])[0];
    await clock.advance(2000);
    expect(lost.held).toBe(false);
    const order: string[] = [];
    const done = [foreign, late, ...all.slice(1)].map(async (one, index) => {
      const lease = await one;
      order.push(['foreign', 'late'][index] ?? 'own');
      await lease.release();
    });
    await clock.advance(3000);
    await Promise.all(done);
    // the store served the first of the others when the lease was ended by force
    expect(order).toEqual(['foreign', 'own', 'own', 'late']);
  });
});
