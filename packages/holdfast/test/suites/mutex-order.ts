/** The order of grants: strict arrival order, or bounded overtaking. */
import { sleep } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { untilShown } from '../support/until-shown.js';
import { failure, freshKey, later, queued } from './helpers.js';

// claim windows are far longer than a test, so a slow machine does not cost a waiter its turn
const NO_POLL = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };

interface Arrival {
  readonly name: string;
  readonly holdfast: Holdfast;
  readonly fair: boolean;
}

/**
 * Adds waiters in a known order behind a holder, then releases. Returns their names in the order of
 * the grants.
 */
async function served(
  key: string,
  holder: Omit<Arrival, 'name'>,
  arrivals: readonly Arrival[],
): Promise<string[]> {
  const lease = await holder.holdfast.mutex(key, { fair: holder.fair }).acquire();
  const order: string[] = [];
  const done: Promise<void>[] = [];
  for (const [index, { name, holdfast, fair }] of arrivals.entries()) {
    const note = (): void => {
      order.push(name);
    };
    done.push(holdfast.mutex(key, { fair }).run(note));
    const instances = arrivals.map((one) => one.holdfast);
    await queued(holder.holdfast, key, index + 1, instances);
  }
  await lease.release();
  await Promise.all(done);
  return order;
}

/** The number of grants before that of a name. */
function before(order: readonly string[], name: string): number {
  return order.indexOf(name);
}

/** `count` instances. Their waiters keep their turn also on a slow machine. */
function makeInstances(backend: Backend, count: number, localHandOffs = 8): Promise<Holdfast[]> {
  const all = Array.from({ length: count }, () => backend.make({ ...NO_POLL, localHandOffs }));
  return Promise.all(all);
}

export function mutexOrder(backend: Backend): void {
  fair(backend);
  kept(backend);
  bounded(backend);
}

function fair(backend: Backend): void {
  it('is that of arrival, across instances, if all waiters are fair', async () => {
    const instances = await makeInstances(backend, 3);
    const arrivals = Array.from({ length: 12 }, (_, at): Arrival => {
      // the waiters of each instance are partly adjacent in the queue, and partly separated
      const holdfast = instances[[0, 0, 1, 2, 0, 1][at % 6] as number] as Holdfast;
      return { name: `${at}`, holdfast, fair: true };
    });
    const holder = { holdfast: instances[0] as Holdfast, fair: true };
    const order = await served(freshKey(), holder, arrivals);
    expect(order).toEqual(arrivals.map(({ name }) => name));
  });

  it('lets no lease granted after a fair waiter arrived overtake it', async () => {
    const [one, other] = (await makeInstances(backend, 2)) as [Holdfast, Holdfast];
    // the holder comes first, so it is fair too: later waiters find a fair waiter in the queue
    const local = Array.from({ length: 12 }, (_, at) => `own ${at}`);
    const arrivals = [
      { name: 'own before', holdfast: one, fair: false },
      { name: 'fair', holdfast: other, fair: true },
      ...local.map((name) => ({ name, holdfast: one, fair: false })),
    ];
    const order = await served(freshKey(), { holdfast: one, fair: true }, arrivals);
    expect(order.slice(0, 2)).toEqual(['own before', 'fair']);
  });

  it('hands on a lease granted before a fair waiter arrived, within the bound', async () => {
    const [one, other] = (await makeInstances(backend, 2, 1)) as [Holdfast, Holdfast];
    const local = Array.from({ length: 12 }, (_, at) => `own ${at}`);
    const arrivals = [
      { name: 'fair', holdfast: other, fair: true },
      ...local.map((name) => ({ name, holdfast: one, fair: false })),
    ];
    const order = await served(freshKey(), { holdfast: one, fair: false }, arrivals);
    // the holder was granted while no other waited
    expect(before(order, 'fair')).toBeLessThanOrEqual(8);
  });
}

/** Longer than the shortest patience of the store with a silent process. */
const SILENCE_MS = 300;

function kept(backend: Backend): void {
  it('is kept for a waiter whose process gives up a call with a short ttl', async () => {
    const [one, other] = (await makeInstances(backend, 2)) as [Holdfast, Holdfast];
    const holder = await backend.make(NO_POLL);
    const key = freshKey();
    const order: string[] = [];
    const lease = await holder.mutex(key).acquire();
    const first = one.mutex(key, { fair: true }).run(() => void order.push('first'));
    await queued(holder, key, 1);
    const second = other.mutex(key, { fair: true }).run(() => void order.push('second'));
    await queued(holder, key, 2);
    const controller = new AbortController();
    const short = later(one.mutex(key).acquire({ ttl: 20, signal: controller.signal }));
    // sent, not answered
    await Promise.resolve();
    controller.abort();
    await failure(short, 'HOLDFAST_ABORTED');
    await queued(holder, key, 2);
    await sleep(SILENCE_MS);
    await lease.release();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
  });
}

function bounded(backend: Backend): void {
  it.each([
    [0, 0],
    [1, 8],
  ])('with %i local hand-offs lets %i overtake a holder that was alone', async (own, bound) => {
    const [one, other] = (await makeInstances(backend, 2, own)) as [Holdfast, Holdfast];
    const local = Array.from({ length: 12 }, (_, at) => `own ${at}`);
    const arrivals = [
      { name: 'foreign', holdfast: other, fair: false },
      ...local.map((name) => ({ name, holdfast: one, fair: false })),
    ];
    // only the holder's own grant comes before that of the other instance's waiter
    const overtaking = async (): Promise<number> => {
      const order = await served(freshKey(), { holdfast: one, fair: false }, arrivals);
      expect(before(order, 'foreign')).toBeLessThanOrEqual(bound);
      expect(new Set(order).size).toBe(13);
      return before(order, 'foreign');
    };
    // a holder that was alone hands on for 5 ms, which a busy machine may need for its release
    const isShown = async (): Promise<string[]> => ((await overtaking()) > 0 ? ['handed on'] : []);
    if (bound === 0) await overtaking();
    else await untilShown(['handed on'], isShown);
  });

  it('lets 2 overtake for each grant that was made while others waited', async () => {
    const [one, other] = (await makeInstances(backend, 2, 2)) as [Holdfast, Holdfast];
    const third = await backend.make(NO_POLL);
    const arrivals = [
      { name: 'first', holdfast: one, fair: false },
      { name: 'foreign', holdfast: other, fair: false },
      ...Array.from({ length: 6 }, (_, at) => ({ name: `${at}`, holdfast: one, fair: false })),
    ];
    const order = await served(freshKey(), { holdfast: third, fair: false }, arrivals);
    expect(order).toEqual(['first', '0', '1', 'foreign', '2', '3', '4', '5']);
  });

  it('control: with a greater bound, more waiters overtake', async () => {
    const [one, other] = (await makeInstances(backend, 2, 1000)) as [Holdfast, Holdfast];
    const third = await backend.make(NO_POLL);
    const arrivals = [
      { name: 'first', holdfast: one, fair: false },
      { name: 'foreign', holdfast: other, fair: false },
      ...Array.from({ length: 6 }, (_, at) => ({ name: `${at}`, holdfast: one, fair: false })),
    ];
    const order = await served(freshKey(), { holdfast: third, fair: false }, arrivals);
    expect(order).toEqual(['first', '0', '1', '2', '3', '4', '5', 'foreign']);
  });

  it('refuses tryAcquire while others wait', async () => {
    const [one, other] = (await makeInstances(backend, 2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    const waiting = other.mutex(key).acquire();
    await queued(one, key, 1);
    // sent one after the other on one connection: the lock goes to the queue, not to tryAcquire
    const [, tried] = await Promise.all([lease.release(), one.mutex(key).tryAcquire()]);
    expect(tried).toBeNull();
    expect((await waiting).held).toBe(true);
  });
}
