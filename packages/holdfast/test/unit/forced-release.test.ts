/**
 * A forced release of a lease of a process that has not waited for any lock: it hears at once if
 * the lease lasts, and the caller learns what is certain.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Lease } from '../../src/index.js';
import { failure } from '../suites/helpers.js';
import { RootWorld } from '../support/root-world.js';

let world: RootWorld;

beforeEach(() => {
  world = new RootWorld();
});

describe('a process without a wake connection', () => {
  it('opens one for a lease that lasts, and hears of its end at once', async () => {
    const { clock, holdfast, other } = world;
    const lease = await world.take();
    await clock.advance(1100);
    expect(holdfast.core.wake.channel).not.toBe('');
    expect(world.sent()).toEqual(['acquire', 'renew']);
    const forcing = other.forceRelease('k', { wait: 1000 });
    await clock.advance(20);
    expect(await forcing).toEqual({ ended: 1, overlap: 0 });
    expect(lease.signal.aborted).toBe(true);
  });

  it('opens none for short locks, and closes it when no lease lasts', async () => {
    const { clock, holdfast, store } = world;
    let opened = 0;
    const listen = store.listen.bind(store);
    store.listen = (...args) => {
      opened += 1;
      return listen(...args);
    };
    for (let count = 0; count < 20; count++) {
      const lease = await world.take();
      await clock.advance(300);
      await lease.release();
    }
    expect(opened).toBe(0);
    const lease = await world.take();
    await clock.advance(3000);
    await lease.release();
    expect(opened).toBe(1);
    await clock.advance(40_000);
    expect(holdfast.core.wake.channel).toBe('');
    // nothing is planned while nothing is held
    expect(clock.timers('all')).toBe(0);
  });

  it.each([100, 500, 900])(
    'tells of a lease that was granted %i ms after another one when it lasts',
    async (later) => {
      const { clock, holdfast, other } = world;
      await holdfast.mutex('short').run(() => clock.advance(later));
      const first = await holdfast.mutex('first').acquire();
      await clock.advance(later);
      const lease = await world.take();
      // the end of the first one must not hide that of the second
      await first.release();
      await clock.advance(1010);
      const forcing = other.forceRelease('k', { wait: 1000 });
      await clock.advance(20);
      expect(await forcing).toEqual({ ended: 1, overlap: 0 });
      expect(lease.signal.aborted).toBe(true);
    },
  );

  it('makes at most one check in a claim window for short locks', async () => {
    const { clock, holdfast } = world;
    const all = vi.spyOn(holdfast.core.watchdog, 'all');
    for (let count = 0; count < 100; count++) {
      await holdfast.mutex('short').run(() => clock.advance(100));
    }
    // a lock that is under way at a check is as old as 100 ms
    expect(all.mock.calls.length).toBeLessThanOrEqual(12);
  });

  it('tells each store once where it listens, and extends no lease by that', async () => {
    const { clock } = world;
    const lease = await world.take({ renew: false });
    await clock.advance(2500);
    expect(world.sent()).toEqual(['acquire', 'renew']);
    expect((await world.inspected()).holders[0]?.left).toBe((9000 - 2500) * 1000);
    await clock.advance(2000);
    expect(world.sent()).toEqual(['inspect'].slice(1));
    expect(lease.held).toBe(true);
  });

  it('hears within a claim window of the end of a lease that did not last yet', async () => {
    const { clock, other } = world;
    const lease = await world.take();
    const forcing = other.forceRelease('k', { wait: 100 });
    await clock.advance(150);
    const { ended, overlap } = await forcing;
    expect(ended).toBe(1);
    expect(overlap).toBeGreaterThan(8000);
    expect(overlap).toBeLessThan(9000);
    // negative control: until then it believes in its lease, as the answer says
    expect(lease.held).toBe(true);
    await clock.advance(900);
    expect(lease.signal.aborted).toBe(true);
  });
});

describe('a forced release by the id of a lease', () => {
  it('that was handed on is refused, in its own process and in others', async () => {
    const { clock, holdfast, other } = world;
    const { lease, waiting } = await world.holding(2);
    await lease.release();
    const second = (await waiting[0]) as Lease;
    for (const from of [holdfast, other]) {
      const refused = await failure(from.forceRelease('k', { id: lease.id }), 'HOLDFAST_REFUSED');
      expect(refused.message).toContain(`{ holder: "${lease.id}" }`);
    }
    expect(second.held).toBe(true);
    // the store does not know which task has it
    await failure(other.forceRelease('k', { id: second.id }), 'HOLDFAST_REFUSED');
    const forcing = holdfast.forceRelease('k', { id: second.id });
    await clock.advance(10);
    expect((await forcing).ended).toBe(1);
    expect(second.signal.aborted).toBe(true);
  });

  it('that cannot be handed on ends it, also from another process', async () => {
    const { clock, holdfast, other } = world;
    const semaphore = holdfast.semaphore('s', { permits: 2 });
    const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
    const forcing = other.forceRelease('s', { id: first.id });
    await clock.advance(10);
    expect((await forcing).ended).toBe(1);
    await clock.advance(2100);
    expect([first.signal.aborted, second.held]).toEqual([true, true]);
  });

  it('that has ended ends nothing', async () => {
    const { other } = world;
    const lease = await world.take();
    await lease.release();
    const next = await world.take();
    expect(await other.forceRelease('k', { id: lease.id })).toEqual({ ended: 0, overlap: 0 });
    expect(next.held).toBe(true);
  });
});
