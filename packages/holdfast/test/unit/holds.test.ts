/** The limit of holds of an owner. */
import { describe, expect, it } from 'vitest';
import { HOLD_LIMIT } from '../../src/engine/limits.js';
import { Holdfast, type Lease, memory } from '../../src/index.js';
import { failure } from '../suites/helpers.js';
import { World } from '../support/world.js';

const owner = 'me';

function full(): World {
  const world = new World();
  for (let count = 0; count < HOLD_LIMIT; count++) world.grant(`h${count}`, { owner });
  return world;
}

describe('an owner with the maximum number of holds', () => {
  it('gets no further hold, and can repeat each existing one', () => {
    const world = full();
    expect(world.ask('more', { owner })).toMatchObject({ status: 'crowded', holds: HOLD_LIMIT });
    expect(world.ask('h0', { owner })).toMatchObject({ status: 'granted', holds: HOLD_LIMIT });
  });

  it('gets one new hold for each release', () => {
    const world = full();
    expect(world.release('h7')).toMatchObject({ status: 'kept', holds: HOLD_LIMIT - 1 });
    expect(world.ask('more', { owner })).toMatchObject({ status: 'granted', holds: HOLD_LIMIT });
    expect(world.ask('again', { owner }).status).toBe('crowded');
  });

  it('has its further acquisitions dropped from the queue, which does not block others', () => {
    const world = new World();
    world.grant('first');
    world.ask('h0', { owner });
    world.ask('late', { owner });
    world.release('first');
    expect(world.pushed()).toEqual(['grant h0', 'grant late']);
    for (let count = 1; count < HOLD_LIMIT - 1; count++) world.grant(`h${count}`, { owner });
    world.ask('stranger');
    expect(world.ask('more', { owner }).status).toBe('crowded');
    expect(world.waiting()).toEqual(['stranger']);
  });
});

it('the error names the number of holds, and the solution', async () => {
  const holdfast = new Holdfast(memory());
  const mutex = holdfast.mutex('k', { sharedBy: owner, renew: false });
  const leases: Promise<Lease>[] = [];
  for (let count = 0; count < HOLD_LIMIT; count++) leases.push(mutex.acquire());
  const [first] = await Promise.all(leases);
  for (const refused of [mutex.acquire(), mutex.tryAcquire()]) {
    const { message } = await failure(refused, 'HOLDFAST_REFUSED');
    expect(message).toMatch(/"k" was refused: .* 1000 holds already, .*; release some/);
  }
  expect(await (first as Lease).release()).toBe('kept');
  await mutex.acquire({ wait: 0 });
  await holdfast.close({ grace: 0 });
});
