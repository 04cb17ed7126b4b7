/**
 * Roots: a process hands its lease from task to task without telling the store. In virtual time.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { InspectReply } from '../../src/engine/commands.js';
import { type AcquireOptions, Holdfast, type Lease } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { OPTIONS, RootWorld } from '../support/root-world.js';
import { settle } from '../support/virtual-clock.js';

let world: RootWorld;
let { clock, store, holdfast, other } = new RootWorld();

beforeEach(() => {
  world = new RootWorld();
  ({ clock, store, holdfast, other } = world);
});

const take = (options?: AcquireOptions): Promise<Lease> => world.take(options);
const inspected = (): Promise<InspectReply> => world.inspected();
const holding = (count: number, options?: AcquireOptions): ReturnType<RootWorld['holding']> =>
  world.holding(count, options);

describe('a hand-off', () => {
  it('sends no command, and gives the next fence and an id of the same root', async () => {
    const { lease, waiting } = await holding(2);
    expect(await lease.release()).toBe('freed');
    const second = (await waiting[0]) as Lease;
    expect([second.fence, second.id]).toEqual([lease.fence + 1, `${lease.id}/1`]);
    expect([lease.held, second.held]).toEqual([false, true]);
    await second.release();
    expect((await (waiting[1] as Promise<Lease>)).id).toBe(`${lease.id}/2`);
    expect(world.sent()).toEqual([]);
  });

  it('serves the tasks in the order of their arrival', async () => {
    const { lease } = await holding(0);
    const order: number[] = [];
    const done = [1, 2, 3].map((n) => holdfast.mutex('k').run(() => void order.push(n)));
    await lease.release();
    await Promise.all(done);
    expect(order).toEqual([1, 2, 3]);
  });

  it('ends after the reserved fences: then a turn asks for the next root', async () => {
    const lease = await take();
    const waiting = Array.from({ length: 20 }, () => later(take()));
    world.sent();
    let last = lease;
    for (const next of waiting.slice(0, 16)) {
      await last.release();
      last = await next;
    }
    expect(world.sent()).toEqual([]);
    await last.release();
    const fresh = (await waiting[16]) as Lease;
    expect(world.sent()).toEqual(['turn']);
    expect(fresh.id).not.toContain('/');
    expect(fresh.fence).toBeGreaterThan(last.fence);
  });

  it.each([
    ['at once', 0, 20],
    ['until 5 ms after the grant', 4, 20],
    ['only eight times later', 6, 8],
  ])('of a root that other processes wait behind is made %s', async (_, ms, count) => {
    const many = { ...OPTIONS, clock, localHandOffs: 64 };
    const [own, others] = [new Holdfast(store, many), new Holdfast(store.inner, many)];
    const blocker = await other.mutex('k').acquire();
    const waiting = Array.from({ length: 21 }, () => own.mutex('k').acquire());
    void later(others.mutex('k').acquire());
    await clock.advance(10);
    void later(blocker.release());
    await settle();
    await clock.advance(ms);
    world.sent();
    let made = 0;
    for (const one of waiting) {
      void later((await one).release());
      await settle();
      if (world.sent().includes('turn')) break;
      made += 1;
    }
    expect(made).toBe(count);
  });

  // the promise of the README: more than eight times only within 5 ms
  it.each([8, 64, 128, 200])(
    'is made at most eight times, if the root was granted alone and each task holds for 20 ms ' +
      '(localHandOffs: %i)',
    async (localHandOffs) => {
      const many = { ...OPTIONS, clock, localHandOffs };
      const [own, others] = [new Holdfast(store, many), new Holdfast(store.inner, many)];
      let left = 60;
      const granted: string[] = [];
      const task = async (by: Holdfast): Promise<void> => {
        while (left > 0) {
          left -= 1;
          const lease = await by.mutex('k').acquire();
          granted.push(lease.id);
          await new Promise<void>((resolve) => void clock.after(20, resolve));
          await lease.release();
        }
      };
      const tasks = Array.from({ length: 12 }, () => task(own));
      await settle();
      tasks.push(task(others));
      await clock.advance(5000);
      await Promise.all(tasks);
      const handOffs = granted.map((id) => Number(id.split('/')[1] ?? 0));
      expect(Math.max(...handOffs)).toBe(8);
      // the other process gets the lock in the order of its arrival
      const runs = granted.map((id) => (id.startsWith(others.core.id) ? '|' : '.')).join('');
      const longest = Math.max(...runs.split('|').map((run) => run.length));
      expect(longest).toBeLessThanOrEqual(12 + 8);
    },
  );

  it('of a root that was granted alone is made more often within 5 ms', async () => {
    const own = new Holdfast(store, { ...OPTIONS, clock, localHandOffs: 64 });
    const lease = await own.mutex('k').acquire();
    const waiting = Array.from({ length: 120 }, () => own.mutex('k').acquire());
    await settle();
    world.sent();
    await lease.release();
    for (const one of waiting) await (await one).release();
    expect(world.sent()).toEqual(['turn']);
  });

  it('is not made when a claim window has passed since the grant', async () => {
    const { lease, waiting } = await holding(1);
    await clock.advance(1000);
    await lease.release();
    expect((await (waiting[0] as Promise<Lease>)).id).not.toContain('/');
    expect(world.sent()).toContain('turn');
  });

  it('is not made when less than half a claim window of the lease remains', async () => {
    const brief = new Holdfast(store, { ...OPTIONS, clock, ttl: 400 });
    const lease = await brief.mutex('k').acquire();
    store.ail('renew', 'lost');
    const waiting = brief.mutex('k').acquire();
    await clock.advance(250);
    void later(lease.release());
    expect((await waiting).id).not.toContain('/');
    expect(store.seen('turn')).toHaveLength(1);
  });

  it('is not made of a lease in doubt', async () => {
    const { lease, waiting } = await holding(1);
    clock.sleep(2000);
    store.ail('poll', 'lost');
    expect(lease.state).toBe('doubted');
    void later(lease.release());
    await settle();
    expect((await (waiting[0] as Promise<Lease>)).id).not.toContain('/');
    expect(world.sent()).toContain('turn');
  });

  it('is not made of a lease that was extended beyond the ttl', async () => {
    const { lease, waiting } = await holding(1);
    await lease.ensure(3_600_000);
    void later(lease.release());
    const next = (await waiting[0]) as Lease;
    expect(next.id).not.toContain('/');
    expect(next.remaining).toBeLessThan(OPTIONS.ttl);
  });

  it.each<[string, AcquireOptions]>([
    ['another ttl', { ttl: 500 }],
    ['no renewal', { renew: false }],
    ['a maxHold', { maxHold: 5000 }],
    ['fairness', { fair: true }],
    ['a shared lease', { sharedBy: 'me' }],
  ])('is not made to a task with %s, which has its own entry', async (_, terms) => {
    const { lease, waiting } = await holding(1, terms);
    expect((await inspected()).waiters).toHaveLength(1);
    void later(lease.release());
    expect((await (waiting[0] as Promise<Lease>)).id).not.toContain('/');
  });

  it('is not allowed while a fair acquisition waits', async () => {
    const blocker = await other.mutex('k').acquire();
    const [first, second] = [take(), take()];
    // their wait is told less 1 % and up to 1 ms
    await clock.advance(2);
    const fair = later(other.mutex('k').acquire({ fair: true }));
    await clock.advance(10);
    void blocker.release();
    await clock.advance(10);
    void (await first).release();
    // its place is that of its arrival, before the fair one
    const next = await second;
    await next.release();
    expect((await fair).held).toBe(true);
    expect(next.id).not.toContain('/');
  });

  it('gives each task its own maxHold and its own signal', async () => {
    const terms = { maxHold: 5000 };
    const lease = await take(terms);
    const waiting = take(terms);
    await clock.advance(900);
    await lease.release();
    const next = await waiting;
    expect(next.id).toContain('/1');
    await clock.advance(4500);
    expect([next.held, next.signal.aborted]).toEqual([true, false]);
    await clock.advance(600);
    expect([next.signal.aborted, lease.signal.aborted]).toEqual([true, false]);
  });
});

describe('the claim of a pushed root', () => {
  it('is sent once, and its answer extends the lease of the task that then holds', async () => {
    const blocker = await other.mutex('k').acquire();
    const waiting = [take(), take()];
    await clock.advance(10);
    store.ail('renew', 100);
    void blocker.release();
    await settle();
    const first = (await waiting[0]) as Lease;
    await first.release();
    const second = (await waiting[1]) as Lease;
    expect(second.id).toBe(`${first.id}/1`);
    expect(second.remaining).toBeLessThan(1000);
    await clock.advance(200);
    expect(second.remaining).toBeGreaterThan(0.9 * OPTIONS.ttl);
    expect(store.seen('renew')).toHaveLength(1);
  });
});

it('goes on with a key in use while thousands of others come and are forgotten', async () => {
  const { lease, waiting } = await holding(2);
  for (let n = 0; n < 2500; n++) {
    const other = await holdfast.mutex(`other ${n}`).acquire();
    await other.release();
  }
  expect(holdfast.statsByKey()).toEqual(new Map([['k', { held: 1, permits: 1, waiting: 2 }]]));
  world.sent();
  await lease.release();
  await (await (waiting[0] as Promise<Lease>)).release();
  expect(await waiting[1]).toMatchObject({ held: true, fence: lease.fence + 2 });
  expect(world.sent()).toEqual([]);
});
