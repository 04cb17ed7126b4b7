/**
 * The end of a root, and of the tasks that wait for one. In virtual time.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Command, InspectReply, Turn } from '../../src/engine/commands.js';
import type { AcquireOptions, Lease } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
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

describe('the end of a root', () => {
  it('by a turn queues the next one in the place of its oldest task', async () => {
    const { lease } = await holding(1);
    // a wait is told less 1 % and up to 1 ms
    await clock.advance(15);
    const late = later(other.mutex('k').acquire());
    await clock.advance(1200);
    await lease.release();
    const { holders, waiters } = await inspected();
    expect(holders[0]?.id.startsWith(holdfast.core.id)).toBe(true);
    expect(waiters).toHaveLength(1);
    void late;
  });

  it('lets other processes come first if they arrived first', async () => {
    const lease = await take();
    const early = other.mutex('k').acquire();
    await clock.advance(10);
    const late = later(take());
    await clock.advance(1200);
    void lease.release();
    const next = await early;
    expect(next.held).toBe(true);
    await next.release();
    expect((await late).held).toBe(true);
  });

  it('without waiters names the last fence that was used, once', async () => {
    const { lease, waiting } = await holding(1);
    await lease.release();
    await ((await waiting[0]) as Lease).release();
    expect(store.seen('turn')).toMatchObject([
      { id: lease.id, fence: lease.fence, used: lease.fence + 1, again: '' },
    ]);
    expect((await inspected()).fence).toBe(lease.fence + 1);
  });

  it('by a crash needs no more than the ttl', async () => {
    const { lease, waiting } = await holding(1);
    await lease.release();
    const second = (await waiting[0]) as Lease;
    store.fate = () => 'lost';
    const next = other.mutex('k').acquire();
    await clock.advance(OPTIONS.ttl + 1000);
    expect((await next).fence).toBeGreaterThan(second.fence);
    expect(second.held).toBe(false);
  });

  it('by force aborts the signal of the present holder; the others ask anew', async () => {
    await holdfast.warmUp();
    const { lease, waiting } = await holding(2);
    await lease.release();
    const second = (await waiting[0]) as Lease;
    expect((await other.forceRelease('k', { holder: lease.id })).ended).toBe(1);
    await clock.advance(10);
    expect(second.signal.aborted).toBe(true);
    expect(lease.signal.aborted).toBe(false);
    const third = (await waiting[1]) as Lease;
    expect(third.id).not.toContain('/');
    expect(third.fence).toBeGreaterThan(second.fence);
  });

  it('by force without a wake channel is noticed within a claim window', async () => {
    const { lease, waiting } = await holding(1);
    await clock.advance(1500);
    expect((await other.forceRelease('k')).ended).toBe(1);
    await clock.advance(1000);
    expect(lease.signal.aborted).toBe(true);
    expect(((await waiting[0]) as Lease).held).toBe(true);
  });

  it('during a stall: the task asks anew, and the writer has the lower fence', async () => {
    const { lease, waiting } = await holding(1);
    clock.stall(OPTIONS.ttl + 1000);
    const next = await other.mutex('k').acquire();
    expect(await lease.release()).toBe('lost');
    expect(next.fence).toBeGreaterThan(lease.fence);
    void next.release();
    await clock.advance(100);
    const last = (await waiting[0]) as Lease;
    expect(last.fence).toBeGreaterThan(next.fence);
  });

  it('at a condition returns the unused fences; the others ask anew', async () => {
    const { lease, waiting } = await holding(2);
    await lease.release();
    const parking = (await waiting[0]) as Lease;
    void later(holdfast.mutex('k').condition('c').await(parking));
    await clock.advance(10);
    expect(store.seen('park')[0]).toMatchObject({ id: lease.id, used: lease.fence + 1 });
    const next = (await waiting[1]) as Lease;
    expect([next.id.includes('/'), next.fence > lease.fence + 1]).toEqual([false, true]);
    await next.release();
  });
});

describe('a turn without an answer', () => {
  const turns = (): Turn[] => store.seen('turn');

  it('is repeated byte for byte, and grants the next root once', async () => {
    const { lease, waiting } = await holding(1);
    await clock.advance(1000);
    store.ail('turn', 'answer lost');
    const releasing = later(lease.release());
    await clock.advance(500);
    store.heal();
    await clock.advance(600);
    expect(turns()).toHaveLength(2);
    expect(turns()[1]).toEqual(turns()[0]);
    expect(await releasing).toBe('freed');
    const next = (await waiting[0]) as Lease;
    expect(next.id).toBe(turns()[0]?.again);
    expect((await inspected()).holders).toHaveLength(1);
  });

  it('that the store never receives: the tasks ask when the lease has ended', async () => {
    const { lease, waiting } = await holding(1);
    await clock.advance(1000);
    store.ail('turn', 'lost');
    void later(lease.release());
    await clock.advance(3 * OPTIONS.ttl);
    const next = (await waiting[0]) as Lease;
    expect(next.held).toBe(true);
    expect(store.seen('acquire').at(-1)).toMatchObject({ id: next.id });
  });

  it('withdraws a root that no task wants at once, and again after the answer', async () => {
    const giveUp = new AbortController();
    const { lease } = await holding(0);
    const blocked = later(other.mutex('k').acquire());
    const waiting = later(take({ signal: giveUp.signal }));
    await clock.advance(1000);
    const held: (() => void)[] = [];
    const all: Command[] = [];
    const withdrawals = (): number => all.filter(({ op }) => op === 'release').length;
    const inner = store.inner.execute.bind(store.inner);
    store.execute = (batch: readonly Command[]) =>
      batch.map((command) => {
        all.push(command);
        if (command.op !== 'turn') return inner([command])[0] as never;
        return new Promise((resolve) => {
          held.push(() => resolve(inner([command])[0] as never));
        });
      });
    void later(lease.release());
    await settle();
    giveUp.abort();
    await failure(waiting, 'HOLDFAST_ABORTED');
    await settle();
    // the first withdrawal finds nothing; then the turn arrives, and queues the root
    expect(withdrawals()).toBe(1);
    for (const arrive of held) arrive();
    await clock.advance(100);
    expect((await blocked).held).toBe(true);
    expect((await inspected()).waiters).toEqual([]);
    expect(withdrawals()).toBe(2);
  });

  it('does not leave the lock to a root that no task wants while replies are lost', async () => {
    const giveUp = new AbortController();
    const { lease, waiting } = await holding(1, { signal: giveUp.signal });
    await clock.advance(1000);
    store.fate = () => 'answer lost';
    void later(lease.release());
    await clock.advance(100);
    expect((await inspected()).holders).toMatchObject([{ id: turns()[0]?.again }]);
    giveUp.abort();
    await failure(waiting[0] as Promise<Lease>, 'HOLDFAST_ABORTED');
    await clock.advance(100);
    expect((await inspected()).holderCount).toBe(0);
    // nor does a repetition of the turn
    await clock.advance(5000);
    expect(turns().length).toBeGreaterThan(1);
    expect((await inspected()).holderCount).toBe(0);
  });

  it('withdraws a root again after each attempt without an answer', async () => {
    const giveUp = new AbortController();
    const { lease, waiting } = await holding(1, { signal: giveUp.signal });
    await clock.advance(1000);
    store.ail('turn', 'lost');
    void later(lease.release());
    giveUp.abort();
    await failure(waiting[0] as Promise<Lease>, 'HOLDFAST_ABORTED');
    await clock.advance(2 * OPTIONS.requestTimeout);
    expect(turns()).toHaveLength(2);
    // the third attempt arrives, and makes the root a holder
    store.fate = () => 'answer lost';
    await clock.advance(100);
    expect(turns()).toHaveLength(3);
    expect((await inspected()).holderCount).toBe(1);
    await clock.advance(OPTIONS.requestTimeout);
    expect((await inspected()).holderCount).toBe(0);
  });

  it('lets tasks time out as unreachable', async () => {
    const { lease } = await holding(0);
    const waiting = later(take({ wait: 4000 }));
    await clock.advance(1000);
    store.fate = () => 'lost';
    void later(lease.release());
    await clock.advance(3500);
    await failure(waiting, 'HOLDFAST_UNREACHABLE');
  });
});

describe('a task', () => {
  it('that ends its wait behind a local holder sends no command', async () => {
    const { waiting } = await holding(1, { wait: 50 });
    await clock.advance(100);
    await failure(waiting[0] as Promise<Lease>, 'HOLDFAST_TIMEOUT');
    expect(world.sent()).toEqual([]);
  });

  it('that is the last one withdraws the entry of its process', async () => {
    const blocker = await other.mutex('k').acquire();
    const ends = [new AbortController(), new AbortController()];
    const waiting = ends.map(({ signal }) => later(take({ signal })));
    await clock.advance(10);
    expect((await inspected()).waiters).toMatchObject([{ tasks: 2 }]);
    ends[0]?.abort();
    await clock.advance(10);
    expect((await inspected()).waiterCount).toBe(1);
    ends[1]?.abort();
    await clock.advance(10);
    expect((await inspected()).waiterCount).toBe(0);
    for (const one of waiting) await failure(one, 'HOLDFAST_ABORTED');
    await blocker.release();
  });

  it('of a closed instance is rejected, also behind a local holder', async () => {
    const { lease, waiting } = await holding(2);
    const closing = holdfast.close({ grace: 0 });
    await clock.advance(10);
    for (const one of waiting) await failure(one, 'HOLDFAST_CLOSED');
    expect(lease.signal.aborted).toBe(true);
    await clock.advance(5000);
    await closing;
    expect((await inspected()).holderCount).toBe(0);
  });
});

it('no timer remains when a process that handed a lease on has closed', async () => {
  const { lease, waiting } = await holding(1);
  await lease.release();
  await ((await waiting[0]) as Lease).release();
  await holdfast.close({ grace: 0 });
  expect(clock.timers()).toBe(0);
});

it('an inspection shows the fences of a root, and the tasks of its process', async () => {
  const blocker = await other.mutex('k').acquire();
  for (let count = 0; count < 3; count++) void later(take());
  await clock.advance(10);
  const waiting = await other.inspect('k');
  expect(waiting?.waiters).toMatchObject([{ localWaiters: 3 }]);
  void blocker.release();
  await clock.advance(10);
  const info = await other.inspect('k');
  const [holder] = info?.holders ?? [];
  expect(holder).toMatchObject({ lastFence: (holder?.fence ?? 0) + 16, localWaiters: 2 });
});

it('the store learns how many tasks wait, in the queue and for a lease', async () => {
  const lease = await other.mutex('k').acquire();
  const waiting = [later(world.take())];
  await clock.advance(100);
  for (let more = 1; more < 8; more++) waiting.push(later(world.take()));
  await clock.advance(1100);
  expect((await other.inspect('k'))?.waiters).toMatchObject([{ localWaiters: 8 }]);
  await lease.release();
  await waiting[0];
  for (let more = 0; more < 3; more++) waiting.push(later(world.take()));
  await clock.advance(2100);
  expect((await other.inspect('k'))?.holders).toMatchObject([{ localWaiters: 10 }]);
});
