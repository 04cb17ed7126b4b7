/** Random options of the public API: in range, out of range, and of wrong types. */
import fc from 'fast-check';

/** Good and bad values of an option. */
interface Range {
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
}

/** Random options, and the names of the bad ones. */
export interface Drawn {
  readonly options: Record<string, unknown>;
  readonly bad: readonly string[];
}

const DAY = 86_400_000;
const NO_NUMBER: readonly unknown[] = [null, '50', Number.NaN, {}, [], true, 50n];
const NO_FLAG: readonly unknown[] = [null, 0, 1, '', 'true', {}];
const NO_TEXT: readonly unknown[] = [null, 5, {}, 'x'.repeat(201), '\ud800', Symbol('s')];

function number(good: readonly number[], bad: readonly number[]): Range {
  return { good, bad: [...NO_NUMBER, ...bad, -1, Number.NEGATIVE_INFINITY] };
}

const flag: Range = { good: [true, false], bad: NO_FLAG };
const label: Range = { good: ['', 'job', 'x'.repeat(200), 'a\nb'], bad: NO_TEXT };
const ttl = number([100, 250.5, 1000, 5000, 30_000, DAY], [0, 9, DAY + 1, Infinity]);

const LOCK: Readonly<Record<string, Range>> = {
  ttl,
  renew: flag,
  maxHold: number([150, 2000, DAY], [0, 9, DAY + 1, Infinity]),
  fair: flag,
  sharedBy: { good: ['o1', 'o1', 'o2'], bad: [...NO_TEXT, ''] },
  label,
  onExpiring: { good: [() => undefined], bad: [null, 5, 'f', {}] },
  expiringBefore: number([1, 50, 100], [0, DAY + 1, Infinity]),
};

export const ACQUIRE: Readonly<Record<string, Range>> = {
  ...LOCK,
  wait: number([0, 10, 700, 2 ** 31, 2 ** 40], []),
  signal: { good: [new AbortController().signal], bad: [null, 5, {}, new AbortController()] },
};

/** The options of the constructors of the other primitives. */
export const MADE_WITH: Readonly<Record<string, Readonly<Record<string, Range>>>> = {
  mutex: LOCK,
  rwLock: LOCK,
  semaphore: { ...LOCK, permits: number([3], [0, 1.5, 2 ** 31, Infinity]) },
  latch: {
    count: number([2], [0, 1.5, 100_001]),
    ttl,
    retention: number([5000, DAY], [0, 999, DAY + 1]),
  },
  barrier: { parties: number([2], [0, 1.5, 10_001]), ttl },
  schedule: {
    ttl,
    label,
    atLeast: number([0, 100], [DAY + 1, Infinity]),
    atMost: number([50, 200, DAY], [0, 9, DAY + 1]),
    retention: number([10, DAY], [0, 9, DAY + 1]),
    afterFailure: { good: ['keep', 'release'], bad: ['', 'ignore', null, 5] },
  },
};

/** The options that a primitive requires. */
const NEEDED: ReadonlySet<string> = new Set(['permits', 'count', 'parties', 'atLeast']);

/** Draws some of the options. `badness`: how many of a hundred values are bad. */
export function drawn(
  ranges: Readonly<Record<string, Range>>,
  badness: number,
): fc.Arbitrary<Drawn> {
  const draws = Object.entries(ranges).map(([name, { good, bad }]) => {
    const fine = fc
      .constantFrom(...good)
      .map((value) => ({ name, value, bad: false, given: true }));
    const wrong = fc.constantFrom(...bad).map((value) => ({ name, value, bad: true, given: true }));
    const none = fc.constantFrom(
      { name, value: undefined, bad: false, given: false },
      { name, value: undefined, bad: false, given: true },
    );
    return fc.oneof(
      { weight: 50, arbitrary: fine },
      { weight: NEEDED.has(name) ? 0 : 50, arbitrary: none },
      { weight: badness, arbitrary: wrong },
    );
  });
  return fc.tuple(...draws).map((all) => {
    const given = all.filter((one) => one.given);
    return {
      options: Object.fromEntries(given.map(({ name, value }) => [name, value])),
      bad: all.filter((one) => one.bad).map(({ name }) => name),
    };
  });
}

/** Adds the names of options that are valid alone, but not in this combination. */
export function judged({ options, bad }: Drawn): Drawn {
  const { renew, maxHold, ttl: length = 10_000, expiringBefore, atLeast, atMost } = options;
  const more: string[] = [];
  if (renew === false && maxHold !== undefined) more.push('maxHold');
  const longest = Math.min(Number(length), Number(maxHold ?? Infinity));
  if (Number(expiringBefore) > Math.ceil(longest)) more.push('expiringBefore');
  if (Number(atMost) < Number(atLeast)) more.push('atMost');
  return { options, bad: [...bad, ...more] };
}
