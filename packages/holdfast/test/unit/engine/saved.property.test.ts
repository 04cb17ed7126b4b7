/**
 * An engine whose state is saved as text and restored before each command behaves like an engine
 * that keeps its state. HOLDFAST_SEED repeats a run.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Engine } from '../../../src/engine/engine.js';
import type { KeyCommand } from '../../../src/engine/commands.js';
import {
  restoredGate,
  restoredResource,
  savedGate,
  savedResource,
} from '../../../src/engine/saved.js';
import { asking } from '../../support/crowds.js';
import { gateCommandOf, gateTraffic } from '../../support/gate-traffic.js';
import { commandOf, elapsedOf, LIVE_CHANNELS, traffic } from '../../support/traffic.js';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

type Saved = Record<string, unknown>;
/** Damages a saved state; the identity in the ordinary test. */
type Damage = (saved: Saved) => Saved;

const receivers = (channel: string): number => (LIVE_CHANNELS.includes(channel) ? 1 : 0);
const asItIs: Damage = (saved) => saved;

/** Applies commands to an engine, and to one that is saved and restored before each command. */
class Pair {
  readonly #whole = new Engine(receivers);
  readonly #texts = new Map<string, string>();
  readonly #damage: Damage;
  now = 1_000_000_000_000;

  constructor(damage: Damage) {
    this.#damage = damage;
  }

  get engine(): Engine {
    return this.#whole;
  }

  apply(command: KeyCommand): void {
    const { key } = command;
    const engine = new Engine(receivers);
    const { lock, gate } = JSON.parse(this.#texts.get(key) ?? '{}');
    if (lock !== undefined) engine.restore(key, restoredResource(lock));
    if (gate !== undefined) engine.gates.restore(key, restoredGate(gate));
    const outcome = engine.apply(command, this.now);
    expect(outcome).toEqual(this.#whole.apply(command, this.now));
    const after = saved(engine, key);
    // the texts too: a text that changed without a reason would be stored again
    expect(JSON.stringify(after)).toBe(JSON.stringify(saved(this.#whole, key)));
    const damaged = Object.entries(after).map(([kind, one]) => [kind, this.#damage(one)]);
    this.#texts.set(key, JSON.stringify(Object.fromEntries(damaged)));
  }
}

function saved(engine: Engine, key: string): Record<string, Saved> {
  const resource = engine.resource(key);
  const gate = engine.gates.get(key);
  return {
    ...(resource && { lock: { ...savedResource(resource) } }),
    ...(gate && { gate: { ...savedGate(gate) } }),
  };
}

function locks(damage: Damage): fc.IProperty<unknown> {
  return fc.property(traffic, (steps) => {
    const pair = new Pair(damage);
    for (const step of steps) {
      const resource = pair.engine.resource(step.command.key);
      pair.now += elapsedOf(step, resource, pair.now);
      pair.apply(commandOf(step, resource, new Map()));
    }
  });
}

function gates(damage: Damage): fc.IProperty<unknown> {
  return fc.property(gateTraffic, (steps) => {
    const pair = new Pair(damage);
    for (const step of steps) {
      const gate = pair.engine.gates.get(step.command.key);
      pair.now += typeof step.elapsed === 'number' ? step.elapsed : (gate?.next(pair.now) ?? 0);
      pair.apply(gateCommandOf(step, gate));
    }
  });
}

/** Makes a damage that loses a field: an empty list, or 0. */
function without(field: string): Damage {
  return (one) => ({ ...one, [field]: Array.isArray(one[field]) ? [] : 0 });
}

describe(`a saved and restored state (HOLDFAST_SEED=${SEED})`, () => {
  it('behaves like the original: locks', () => {
    fc.assert(locks(asItIs), { seed: SEED, numRuns: 100 });
  });

  it('remembers that the first hold of a lease has ended before the others', () => {
    const pair = new Pair(asItIs);
    const acquire = (id: string, owner = ''): void => {
      pair.apply(asking(id, { owner, capacity: 1 }));
    };
    acquire('first', 'o');
    acquire('second', 'o');
    pair.apply({ op: 'release', key: 'k2', id: 'first', retention: 10_000 });
    acquire('waiter');
    // the lease ends, and a late copy of the first request waits
    pair.now += 1_000_000;
    acquire('first', 'o');
  });

  it('has few characters for each waiter, whose process and label are its own', () => {
    const engine = new Engine(() => 1);
    const ask = (at: number): void => {
      const id = `process-${at}-abcdef.1`;
      const channel = `holdfast:wake:process-${at}-abcdef`;
      const command = asking(id, { channel, token: `token-${at}`, capacity: 1, fair: true });
      engine.apply({ ...command, key: 'k', meta: `label ${at}` }, 1_795_613_562_905_603);
    };
    const length = (): number => JSON.stringify(saved(engine, 'k')).length;
    ask(0);
    const before = length();
    for (let at = 1; at <= 1000; at++) ask(at);
    expect(engine.resource('k')?.queue.size).toBe(1000);
    expect((length() - before) / 1000).toBeLessThan(95);
  });

  it('behaves like the original: gates', () => {
    fc.assert(gates(asItIs), { seed: SEED, numRuns: 100 });
  });

  it.each([
    ...['capacity', 'fence', 'lastTicket', 'forgetAt', 'holders', 'waiters', 'parked'],
    ...['latest', 'processes', 'terms', 'metas', 'heard'],
  ])('the test notices the loss of %s of a lock', (field) => {
    const found = fc.check(locks(without(field)), { numRuns: 2000, endOnFailure: true });
    expect(found.failed).toBe(true);
  });

  it('the test notices the loss of what a holder has beyond the plain case', () => {
    const plain: Damage = (one) => {
      const { holders = [] } = one as { holders?: readonly unknown[][] };
      return { ...one, holders: holders.map((holder) => holder.slice(0, 12)) };
    };
    expect(fc.check(locks(plain), { numRuns: 2000, endOnFailure: true }).failed).toBe(true);
  });

  it.each([
    ...['count', 'generation', 'since', 'missing', 'endsAt', 'retention', 'pastGeneration'],
    ...['broken', 'arrivals', 'past', 'expiries', 'channels'],
  ])('the test notices the loss of %s of a gate', (field) => {
    const found = fc.check(gates(without(field)), { numRuns: 2000, endOnFailure: true });
    expect(found.failed).toBe(true);
  });
});
