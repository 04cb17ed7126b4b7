/**
 * A lease that is granted by push is renewed before its call has it. If it ends meanwhile, the call
 * gets an error and not a lost lease.
 */
import { beforeEach, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../src/index.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore & { written?: () => Promise<void> };
let holder: Lease;
let waiting: Promise<Lease>;
let write: () => void;

beforeEach(async () => {
  clock = new VirtualClock();
  store = Object.assign(new WatchedStore(clock), {
    writesLater: true,
    written: () => new Promise<void>((resolve) => (write = resolve)),
  });
  const [one, other] = [new Holdfast(store, { clock }), new Holdfast(store, { clock })];
  holder = await one.mutex('k').acquire();
  waiting = other.mutex('k').acquire();
  await settle();
});

it('it rejects, and the lease is withdrawn', async () => {
  store.ail('renew', 'lost');
  await holder.release();
  await settle();
  const rejected = expect(waiting).rejects.toMatchObject({
    code: 'HOLDFAST_UNREACHABLE',
    cause: { code: 'HOLDFAST_LOST' },
  });
  // longer than the claim window
  await clock.advance(5000);
  write();
  await rejected;
  await settle();
  const { holders = [] } = (await new Holdfast(store, { clock }).inspect('k')) ?? {};
  expect(holders).toEqual([]);
  expect(store.batches.flat().filter(({ op }) => op === 'release')).toHaveLength(2);
});

it('it has the lease if the renewal is on its way in time', async () => {
  await holder.release();
  await settle();
  write();
  expect((await waiting).held).toBe(true);
});
