/** The judge of the torture, on histories made by hand: what it finds, and what it excuses. */
import { describe, expect, it } from 'vitest';
import { judge } from '../../../torture/src/judge.js';

type HistoryEvent = Parameters<typeof judge>[0][number];
type Without<E> = E extends unknown ? Omit<E, 't' | 'p'> : never;
type Happening = Without<HistoryEvent>;

function at(time: number, happening: Happening, p = 'p0'): HistoryEvent {
  return { t: time, p, ...happening };
}

/** A lease that was believed from one moment to another. */
function lease(a: string, fence: number, from: number, to: number, k = 'key'): HistoryEvent[] {
  return [at(from, { e: 'grant', k, a, id: a, fence }), at(to, { e: 'release', k, a })];
}

function found(...events: (HistoryEvent | HistoryEvent[])[]): Record<string, number> {
  const { problems, excused } = judge(events.flat().sort((one, other) => one.t - other.t));
  const kinds = ['overlap', 'fence', 'refused', 'error', 'left behind'];
  const counts = kinds.map((kind) => [kind, problems.count(kind)] as const);
  const all = [...counts, ['amnesia', excused.amnesia], ['force', excused.force]] as const;
  return Object.fromEntries(all.filter(([, count]) => count > 0));
}

/** Grants with a fence up to `to` may overlap with those from `from` on. */
const amnesia = (from: number, to: number): HistoryEvent => {
  const event = { e: 'amnesia', why: 'test', from, to } as const;
  return at(-1, event);
};

describe('overlaps', () => {
  it('finds two at once', () => {
    expect(found(lease('a', 10, 0, 100), lease('b', 20, 50, 150))).toEqual({ overlap: 1 });
    expect(found(lease('a', 10, 0, 100), lease('b', 20, 101, 150))).toEqual({});
    expect(found(lease('a', 10, 0, 100), lease('b', 20, 50, 150, 'other'))).toEqual({});
  });

  it('finds one behind another one that has ended', () => {
    const long = lease('a', 10, 0, 100);
    expect(found(long, lease('b', 20, 20, 30), lease('c', 30, 50, 60))).toEqual({ overlap: 2 });
  });

  it('excuses them across a loss of memory only', () => {
    const two = [lease('a', 10, 0, 100), lease('b', 20, 50, 150)].flat();
    expect(found(two, amnesia(14, 16))).toEqual({ amnesia: 1 });
    expect(found(two, amnesia(5, 6))).toEqual({ overlap: 1 });
    expect(found(two, amnesia(30, 31))).toEqual({ overlap: 1 });
  });

  it('excuses them for two ttls only', () => {
    const late = [lease('a', 10, 0, 3000), lease('b', 20, 2001, 3000)].flat();
    expect(found(late, amnesia(14, 16))).toEqual({ overlap: 1 });
  });

  it('takes no fence for a time that counts on from before a step backwards', () => {
    const two = [lease('a', 1_000_001, 2, 100), lease('b', 1_000_002, 50, 150)].flat();
    expect(found(two, amnesia(14, 16))).toEqual({ overlap: 1 });
    const before = lease('c', 1_000_000, -2, -1);
    expect(found(before, two, amnesia(14, 16))).toEqual({ amnesia: 1 });
  });

  it('excuses them where the lease was ended by force', () => {
    const two = (k: string): HistoryEvent[] =>
      [lease('a', 10, 0, 100, k), lease('b', 20, 50, 150, k)].flat();
    const force = (k: string): HistoryEvent[] => [
      at(40, { e: 'force', k }, 'p9'),
      at(45, { e: 'forced', k }, 'p9'),
    ];
    expect(found(two('forced'), force('forced'))).toEqual({ force: 1 });
    expect(found(two('forced'))).toEqual({ overlap: 1 });
    expect(found(two('key'), force('key'))).toEqual({ overlap: 1 });
  });
});

describe('fences', () => {
  it('finds one that did not grow', () => {
    expect(found(lease('a', 20, 0, 10), lease('b', 10, 20, 30))).toEqual({ fence: 1 });
    expect(found(lease('a', 20, 0, 10), lease('b', 20, 20, 30))).toEqual({ fence: 1 });
  });

  it('excuses a lease from before a loss of memory that is heard of late, for one ttl', () => {
    const newer = lease('a', 20, 0, 10);
    expect(found(newer, lease('b', 10, 20, 30), amnesia(14, 16))).toEqual({ amnesia: 1 });
    expect(found(newer, lease('b', 10, 2000, 2010), amnesia(14, 16))).toEqual({ fence: 1 });
    expect(found(newer, lease('b', 10, 20, 30), amnesia(30, 31))).toEqual({ fence: 1 });
    expect(found(newer, lease('b', 20, 20, 30), amnesia(14, 31))).toEqual({ fence: 1 });
  });

  it('finds a holder that the resource refused', () => {
    const use = (accepted: boolean): HistoryEvent =>
      at(5, { e: 'use', k: 'key', a: 'a', fence: 10, accepted });
    expect(found(lease('a', 10, 0, 10), use(false))).toEqual({ refused: 1 });
    expect(found(lease('a', 10, 0, 10), use(true))).toEqual({});
    expect(found(lease('a', 10, 0, 5), use(false), at(6, { e: 'lost', k: 'key', a: 'a' }))).toEqual(
      {},
    );
  });
});

it('finds what is left behind, and errors of others', () => {
  const holders = [{ id: 'a', fence: 1, weight: 1 }];
  expect(found(at(1, { e: 'seen', k: 'key', holders, waiters: [] }))).toEqual({ 'left behind': 1 });
  expect(found(at(1, { e: 'seen', k: 'key', holders: [], waiters: [] }))).toEqual({});
  const fail = (code: string | null): HistoryEvent => at(1, { e: 'fail', k: 'key', a: 'a', code });
  expect(found(fail('unexpected: TypeError'))).toEqual({ error: 1 });
  expect(found(fail('HOLDFAST_TIMEOUT'), fail(null))).toEqual({});
});
