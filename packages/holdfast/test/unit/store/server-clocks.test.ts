/** Bounds of the clock of a quorum: the median of the clocks of its servers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Ballots } from '../../../src/store/quorum/ballots.js';
import { ServerClocks } from '../../../src/store/quorum/server-clocks.js';

/** The time of a server when the local clock is `at` ms, in µs. */
const clockOf = (offset: number, at: number): number => Math.floor((at + offset) * 1000);

const median = (values: number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

interface Seen {
  readonly server: number;
  readonly sent: number;
  readonly delay: number;
  readonly back: number;
}

/** Notes readings; each server read its clock between the request and the answer. */
function noted(offsets: number[], readings: readonly Seen[]): ServerClocks {
  const clocks = new ServerClocks(offsets.length);
  for (const { server, sent, delay, back } of readings) {
    const time = clockOf(offsets[server] as number, sent + delay);
    clocks.note(server, time, sent, sent + delay + back);
  }
  return clocks;
}

const seen = fc.record({
  server: fc.integer({ min: 0, max: 4 }),
  sent: fc.integer({ min: 100_000, max: 130_000 }),
  delay: fc.integer({ min: 0, max: 500 }),
  back: fc.integer({ min: 0, max: 500 }),
});
const offset = fc.integer({ min: -50_000, max: 50_000 });

describe('the median of all clocks', () => {
  it('is between its bounds, whatever is known', () => {
    fc.assert(
      fc.property(
        fc.array(offset, { minLength: 5, maxLength: 5 }),
        fc.array(seen),
        (offsets, all) => {
          const clocks = noted(offsets, all);
          const at = 131_000;
          const real = median(offsets.map((one) => clockOf(one, at)));
          expect(clocks.earliest(at)).toBeLessThanOrEqual(real + 1);
          expect(clocks.latest(at)).toBeGreaterThanOrEqual(real - 1);
        },
      ),
    );
  });

  it('control: the clock of one server is not', () => {
    const offsets = [0, 0, 3_600_000];
    const clocks = noted([3_600_000], [{ server: 0, sent: 1000, delay: 1, back: 1 }]);
    const real = median(offsets.map((one) => clockOf(one, 1002)));
    expect(clocks.earliest(1002)).toBeGreaterThan(real);
  });

  it('does not move with one wrong clock', () => {
    for (const wrong of [-3_600_000, 3_600_000]) {
      const readings = [0, 1, 2].map((server) => ({ server, sent: 1000, delay: 1, back: 1 }));
      const clocks = noted([0, wrong, 0], readings);
      expect(Math.abs(clocks.earliest(1002) - clockOf(0, 1002))).toBeLessThan(2000);
      expect(Math.abs(clocks.latest(1002) - clockOf(0, 1002))).toBeLessThan(2000);
      expect(Math.abs((clocks.offset(1, 1002) as number) - wrong)).toBeLessThan(3);
    }
  });

  it('is not off by the time of a slow answer', () => {
    const slow = { server: 1, sent: 1000, delay: 1, back: 60_000 };
    const others = [0, 2].map((server) => ({ server, sent: 61_000, delay: 0, back: 1 }));
    expect(noted([0, 0, 0], [slow, ...others]).offset(1, 61_001)).toBe(0);
    const offset = noted([0, -90_000, 0], [slow, ...others]).offset(1, 61_001) as number;
    expect(Math.abs(offset + 90_000)).toBeLessThan(10);
  });

  it('is not earlier after a slow answer, and is after a step of the clocks', () => {
    const clocks = noted(
      [0, 0, 0],
      [0, 1].map((server) => ({ server, sent: 101_000, delay: 0, back: 0 })),
    );
    const before = clocks.earliest(101_020);
    for (const server of [0, 1]) clocks.note(server, clockOf(0, 101_010), 101_010, 101_030);
    expect(clocks.earliest(101_030)).toBe(before);
    for (const server of [0, 1]) clocks.note(server, clockOf(-5000, 101_040), 101_040, 101_041);
    expect(clocks.earliest(101_041)).toBeLessThan(before - 4_000_000);
  });

  it('is unknown without a majority, and long after the last answer', () => {
    const clocks = noted([0, 0, 0], [{ server: 1, sent: 1000, delay: 1, back: 1 }]);
    expect([clocks.earliest(1002), clocks.latest(1002)]).toEqual([0, Infinity]);
    clocks.note(0, clockOf(0, 1000), 1000, 1001);
    expect(clocks.latest(1002)).toBeLessThan(Infinity);
    expect([clocks.earliest(70_000), clocks.latest(70_000)]).toEqual([0, Infinity]);
  });
});

describe('ballots', () => {
  it('grow as texts, follow the clock, and pass those of others', () => {
    let now = 0;
    const [one, other] = [0.1, 0.2].map(
      (part) =>
        new Ballots(
          () => part,
          () => now,
        ),
    ) as [Ballots, Ballots];
    const found = [one.next(), one.next()];
    now = 1e15;
    found.push(one.next());
    other.pass(found[2] as string);
    now = 0;
    found.push(other.next(), other.next());
    expect(found).toEqual([...found].sort());
    expect(new Set(found).size).toBe(5);
    expect(new Set(found.map(({ length }) => length))).toEqual(new Set([28]));
  });
});
