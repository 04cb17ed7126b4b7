/** The clock of the register, from whole seconds. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Bounds, Clocks, EndpointClock, type Moment, widthOf } from '../../src/clocks.js';

/** A world with the clocks of this process and of servers. */
class World {
  at = 5000;
  wall = 1_700_000_000_000;
  readonly ahead: number[];
  readonly clocks: Clocks;

  constructor(...ahead: number[]) {
    this.ahead = ahead;
    this.clocks = new Clocks(
      ahead.map(() => new EndpointClock()),
      () => this.now(),
    );
  }

  now(): Moment {
    return { at: this.at, wall: this.wall };
  }

  /** Time passes. */
  pass(ms: number): void {
    this.at += ms;
    this.wall += ms;
  }

  /** The machine is suspended: its monotonic clock stops. */
  suspend(ms: number): void {
    this.wall += ms;
    this.ahead.forEach((_, server) => this.set(server, ms));
  }

  /** The clock of a server is set. */
  set(server: number, ms: number): void {
    this.ahead[server] = this.truth(server) + ms;
  }

  truth(server: number): number {
    return this.ahead[server] as number;
  }

  /** Asks a server; the way there and back takes `there` and `back` ms. */
  ask(server: number, there = 1, back = 1): void {
    const sent = this.now();
    this.pass(there);
    const date = new Date(this.at + this.truth(server)).toUTCString();
    this.pass(back);
    this.clocks.saw(server, date, sent);
  }

  get median(): Bounds | undefined {
    return this.clocks.median();
  }
}

const contains = (bounds: Bounds | undefined, value: number): boolean =>
  bounds !== undefined && bounds.lower <= value && value <= bounds.upper;

const offset = fc.integer({ min: 1_600_000_000_000, max: 1_800_000_000_000 });
const pause = fc.integer({ min: 0, max: 4000 });
const way = fc.integer({ min: 0, max: 400 });

describe('the clock of one server', () => {
  it('is within its bounds, fast and slow answers alike, and they become narrow', () => {
    fc.assert(
      fc.property(offset, fc.array(fc.tuple(pause, way, way), { minLength: 1 }), (ahead, asks) => {
        const world = new World(ahead);
        for (const [ms, there, back] of asks) {
          world.pass(ms);
          world.ask(0, there, back);
          expect(contains(world.median, ahead)).toBe(true);
        }
      }),
    );
    const world = new World(1_700_000_000_123);
    for (let round = 0; round < 60; round += 1) {
      world.pass(737);
      world.ask(0);
    }
    expect(widthOf(world.median)).toBeLessThan(100);
  });

  it('negative control: bounds that are not widened lose a clock that runs faster', () => {
    const world = new World(1_700_000_000_000);
    const measured = (): Bounds => world.median as Bounds;
    for (let at = 0; at < 100; at += 1) {
      world.pass(10.1);
      world.ask(0, 0.1, 0.1);
    }
    const narrow = measured();
    for (let at = 0; at < 100; at += 1) {
      world.pass(1000);
      world.set(0, 0.9);
    }
    expect(contains(narrow, world.truth(0))).toBe(false);
    expect(contains(measured(), world.truth(0))).toBe(true);
  });

  it('that was set is found by the next answer, and a step of this machine by itself', () => {
    const world = new World(1_700_000_000_000);
    world.ask(0);
    world.set(0, 3_600_000);
    expect(contains(world.median, world.truth(0))).toBe(false);
    world.ask(0);
    expect(contains(world.median, world.truth(0))).toBe(true);
    for (const ms of [6000, -12_000]) {
      world.wall += ms;
      expect(contains(world.median, world.truth(0))).toBe(true);
      expect(widthOf(world.median)).toBeGreaterThan(5000);
    }
  });

  it('is within its bounds after a suspend of the machine, before any answer', () => {
    const world = new World(1_700_000_000_000);
    for (let at = 0; at < 40; at += 1) {
      world.pass(33);
      world.ask(0);
    }
    expect(widthOf(world.median)).toBeLessThan(50);
    world.suspend(400);
    expect(contains(world.median, world.truth(0))).toBe(true);
    world.ask(0);
    expect(contains(world.median, world.truth(0))).toBe(true);
  });

  it('is not known after some minutes without an answer, or without a date', () => {
    const world = new World(1_700_000_000_000);
    expect(world.median).toBeUndefined();
    world.clocks.saw(0, null, world.now());
    world.clocks.saw(0, 'soon', world.now());
    expect(world.median).toBeUndefined();
    world.ask(0);
    world.pass(100_000);
    expect(world.median).toBeDefined();
    world.pass(100_000);
    expect(world.median).toBeUndefined();
  });
});

describe('the clock of several servers', () => {
  const middle = (all: readonly number[]): number =>
    [...all].sort((a, b) => a - b)[Math.floor((all.length - 1) / 2)] as number;

  it('is their median, also while a minority is not known; a majority must be', () => {
    const ahead = fc.array(offset, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(ahead, fc.array(fc.nat({ max: 4 })), (all, asked) => {
        const world = new World(...all);
        const known = new Set<number>();
        for (const server of asked.filter((one) => one < all.length)) {
          world.pass(411);
          world.ask(server);
          known.add(server);
          const isMajority = known.size > all.length / 2;
          expect(world.median !== undefined).toBe(isMajority);
          if (isMajority) expect(contains(world.median, middle(all))).toBe(true);
        }
      }),
    );
  });

  it('two processes that know different majorities agree, with wrong clocks too', () => {
    const all = [1_700_000_000_000, 1_700_003_600_000, 1_700_000_000_400];
    const processes = [
      [0, 1],
      [1, 2],
      [2, 0],
    ].map((known) => {
      const world = new World(...all);
      for (const server of known) world.ask(server);
      return world.median as Bounds;
    });
    const lower = Math.max(...processes.map((one) => one.lower));
    const upper = Math.min(...processes.map((one) => one.upper));
    expect(lower).toBeLessThanOrEqual(upper);
  });

  it('a wrong clock of one changes nothing, and a step of it forgets the others', () => {
    const world = new World(1_700_000_000_000, 1_700_000_000_000, 1_700_003_600_000);
    for (const server of [0, 1, 2]) world.ask(server);
    expect(widthOf(world.median)).toBeLessThan(1100);
    world.set(2, 3_600_000);
    world.ask(2);
    expect(world.median).toBeUndefined();
    for (const server of [0, 1]) world.ask(server);
    expect(contains(world.median, world.truth(0))).toBe(true);
  });
});
