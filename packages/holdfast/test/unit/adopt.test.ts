/** `adopt` beside another `adopt` of the same lease, and beside `close`. */
import { expect, it } from 'vitest';
import { adopt, adoptLeadership, handOver, toText } from '../../src/handover.js';
import { Holdfast, memory } from '../../src/index.js';
import { failure } from '../suites/helpers.js';

it('one instance adopts a lease once, also with two calls at the same time', async () => {
  const store = memory();
  const [one, other, third] = [new Holdfast(store), new Holdfast(store), new Holdfast(store)];
  const lease = await one.mutex('k').acquire();
  const text = handOver(one, lease);
  const first = adopt(other, text);
  const error = await failure(adopt(other, text), 'HOLDFAST_BAD_OPTION');
  expect(error.message).toContain('a lease that this instance does not have');
  const taken = await first;
  expect(taken.held).toBe(true);
  await failure(adopt(other, text), 'HOLDFAST_BAD_OPTION');
  // a control: two instances may have it
  expect((await adopt(third, text)).held).toBe(true);
  expect(await taken.release()).toBe('freed');
  // the reservation is over
  await failure(adopt(other, text), 'HOLDFAST_LOST');
  await failure(adopt(other, text), 'HOLDFAST_LOST');
});

it('a text with the same lease twice is refused', async () => {
  const store = memory();
  const [one, other] = [new Holdfast(store), new Holdfast(store)];
  const text = toText(one, await one.allOf(['a', 'b']).acquire());
  const written = JSON.parse(text) as { leases: unknown[] };
  const twice = { ...written, leases: [written.leases[0], written.leases[0]] };
  await failure(adopt(other, JSON.stringify(twice)), 'HOLDFAST_BAD_OPTION');
  expect((await adopt(other, text)).held).toBe(true);
});

it.each([
  ['at once', 0],
  ['after some steps', 3],
])('a close that begins %s leaves the lease to other processes', async (_, steps) => {
  const store = memory();
  const [one, other, third] = [new Holdfast(store), new Holdfast(store), new Holdfast(store)];
  for (const keys of [['k'], ['a', 'b']]) {
    const closing = new Holdfast(store);
    const lease = await one.allOf(keys).acquire();
    const text = toText(one, lease);
    const adopting = failure(adopt(closing, text), 'HOLDFAST_CLOSED');
    for (let step = 0; step < steps; step++) await Promise.resolve();
    await closing.close({ grace: 0 });
    await adopting;
    expect([await lease.verify(), (await adopt(other, text)).held]).toEqual([true, true]);
  }
  const term = handOver(one, await one.election('leader').campaign());
  const adopting = failure(adoptLeadership(third, term), 'HOLDFAST_CLOSED');
  await third.close({ grace: 0 });
  await adopting;
  expect((await adoptLeadership(other, term)).leads).toBe(true);
});

it('no lease is held after the close, whenever it began', async () => {
  const store = memory();
  const one = new Holdfast(store);
  for (let steps = 0; steps < 40; steps++) {
    const closing = new Holdfast(store);
    const text = handOver(one, await one.allOf([`a${steps}`, `b${steps}`]).acquire());
    const adopting = adopt(closing, text).catch(({ code }) => code as string);
    for (let step = 0; step < steps; step++) await Promise.resolve();
    await closing.close({ grace: 0 });
    const outcome = await adopting;
    const isHeld = typeof outcome !== 'string' && outcome.held;
    expect([steps, isHeld]).toEqual([steps, false]);
    if (typeof outcome === 'string') expect(outcome).toBe('HOLDFAST_CLOSED');
  }
});
