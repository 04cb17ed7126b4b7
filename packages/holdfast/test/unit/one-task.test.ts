/**
 * What one task of a process does to its lease has no effect on the next task that gets the same
 * root: the end of renewal, `maxHold`, a hand-over. In virtual time.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { adopt, adoptLeadership, handOver } from '../../src/handover.js';
import type { AcquireOptions, Lease } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { OPTIONS, RootWorld } from '../support/root-world.js';

let world: RootWorld;
let { clock, store, holdfast, other } = new RootWorld();

beforeEach(() => {
  world = new RootWorld();
  ({ clock, store, holdfast, other } = world);
});

const take = (options?: AcquireOptions): Promise<Lease> => later(world.take(options));

describe('the next task of a root', () => {
  it.each([false, true])('is renewed, if the one before was not (fair: %s)', async (fair) => {
    const lease = await take({ fair });
    const next = take({ fair });
    await clock.advance(10);
    lease.stopRenewal();
    await lease.release();
    const second = await next;
    await clock.advance(3 * OPTIONS.ttl);
    expect([second.held, second.signal.aborted]).toEqual([true, false]);
    expect(await second.release()).toBe('freed');
  });

  it('is not renewed, if it ended its renewal; the one after it is renewed', async () => {
    const lease = await take();
    const waiting = [take(), take()];
    await clock.advance(10);
    await lease.release();
    const second = (await waiting[0]) as Lease;
    second.stopRenewal();
    // a call of a task that has released changes nothing
    lease.stopRenewal();
    await clock.advance(OPTIONS.ttl);
    expect(second.signal.aborted).toBe(true);
    const third = (await waiting[1]) as Lease;
    await clock.advance(3 * OPTIONS.ttl);
    expect(third.held).toBe(true);
  });

  it.each([false, true])('has its own maxHold (fair: %s)', async (fair) => {
    const maxHold = 4 * OPTIONS.ttl;
    const lease = await take({ fair, maxHold });
    const next = take({ fair, maxHold });
    await clock.advance(fair ? maxHold - 5000 : 900);
    const renewals = store.seen('renew').length;
    await lease.release();
    const second = await next;
    await clock.advance(maxHold - 1000);
    expect([second.held, second.signal.aborted]).toEqual([true, false]);
    expect(store.seen('renew').length).toBeGreaterThan(renewals);
    await clock.advance(1000);
    expect(second.signal.reason).toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(String(second.signal.reason)).toContain('maxHold');
  });
});

describe('a lease that was handed over', () => {
  /** The adopted lease is held, no other instance gets the lock, and nothing was sent. */
  async function expectHeld(adopted: { readonly id: string }): Promise<void> {
    await clock.advance(10);
    expect(world.sent()).toEqual([]);
    const { holders } = await world.inspected();
    expect(holders.map(({ id }) => id)).toEqual([adopted.id]);
  }

  it('is not released by its first process', async () => {
    const lease = await take();
    const adopted = await adopt(other, handOver(holdfast, lease));
    world.sent();
    expect(await lease.release()).toBe('kept');
    await expectHeld(adopted);
    expect(adopted.held).toBe(true);
    expect(await adopted.release()).toBe('freed');
  });

  it('is not released at the end of a block with `await using`', async () => {
    let adopted: Lease;
    {
      await using lease = await take();
      adopted = await adopt(other, handOver(holdfast, lease));
      world.sent();
    }
    await expectHeld(adopted);
  });

  it('is not released at the end of a run, and the run is no failure', async () => {
    const work = (lease: Lease): string => {
      const text = handOver(holdfast, lease);
      world.sent();
      return text;
    };
    const text = await holdfast.mutex('k').run(work);
    await expectHeld(await adopt<Lease>(other, text));
  });

  it('is not released by close, and its other tasks get a lease of their own', async () => {
    const lease = await take();
    const next = take();
    await clock.advance(10);
    const adopted = await adopt(other, handOver(holdfast, lease));
    await clock.advance(10);
    world.sent();
    void lease.release();
    await expectHeld(adopted);
    await adopted.release();
    const second = await next;
    expect(second.fence).toBeGreaterThan(adopted.fence);
    await second.release();
    const last = await take();
    const kept = await adopt(other, handOver(holdfast, last));
    const closed = holdfast.close();
    await clock.advance(5000);
    await closed;
    expect((await world.inspected()).holders.map(({ id }) => id)).toEqual([kept.id]);
  });

  it('of a leader is not released by resign, nor at the end of lead', async () => {
    const election = holdfast.election('e');
    const term = await election.campaign();
    const taken = await adoptLeadership(other, handOver(holdfast, term));
    world.sent();
    expect(await term.resign()).toBe('kept');
    await clock.advance(10);
    expect([world.sent(), taken.leads]).toEqual([[], true]);
    await taken.resign();
    const stop = new AbortController();
    let text = '';
    const led = election.lead(
      (leadership) => {
        text = handOver(holdfast, leadership);
        stop.abort();
      },
      { signal: stop.signal },
    );
    await led.catch(() => undefined);
    const second = await adoptLeadership(other, text);
    await clock.advance(10);
    expect([second.leads, (await other.election('e').leader())?.id]).toEqual([true, second.id]);
  });
});

it('fair tasks of one step with different terms are served in the order of calls', async () => {
  const blocker = await other.mutex('k').acquire();
  const order: number[] = [];
  const all = [9000, 9000, 8000, 9000].map(async (ttl, index) => {
    const lease = await take({ fair: true, ttl });
    order.push(index);
    await lease.release();
  });
  await clock.advance(10);
  await blocker.release();
  await clock.advance(1000);
  await Promise.all(all);
  expect(order).toEqual([0, 1, 2, 3]);
});
