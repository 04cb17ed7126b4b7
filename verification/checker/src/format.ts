/** Parses and validates the lines of a history. */
import type { HistoryEvent } from './events.js';

export * from './events.js';

type Check = (value: unknown) => boolean;
type Fields = Readonly<Record<string, readonly [expected: string, check: Check]>>;
type Rule = readonly [field: string, expected: string, check: Check];

const isText: Check = (value) => typeof value === 'string' && value !== '';
const isTime: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isPositive: Check = (value) => isCount(value) && (value as number) > 0;
const isFlag: Check = (value) => typeof value === 'boolean';
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isHolder: Check = (value) =>
  isRecord(value) && isText(value['id']) && isCount(value['fence']) && isCount(value['weight']);
const isOptional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const TEXT = ['a non-empty string', isText] as const;
const TIME = ['a finite number', isTime] as const;
const POSITIVE = ['a whole number from 1', isPositive] as const;
const FLAG = ['true or false', isFlag] as const;
const MAYBE_TEXT = ['missing or a non-empty string', isOptional(isText)] as const;
const MAYBE_FLAG = ['missing, true or false', isOptional(isFlag)] as const;
const COUNT = ['a whole number from 0', isCount] as const;
const MAYBE_COUNT = ['missing or a whole number from 0', isOptional(isCount)] as const;
const MAYBE_TIME = ['missing or a finite number', isOptional(isTime)] as const;

const STAMP: Fields = { t: TIME, p: TEXT };
const ATTEMPT: Fields = { k: TEXT, a: TEXT };
/** A call at a latch or a barrier. */
const CALL: Fields = { k: TEXT, g: TEXT };

const FIELDS: Readonly<Record<HistoryEvent['e'], Fields>> = {
  begin: {
    localHandOffs: MAYBE_COUNT,
    ...{
      claimWindow: MAYBE_TIME,
      ttl: MAYBE_TIME,
      requestTimeout: MAYBE_TIME,
      retention: MAYBE_TIME,
    },
    ...{
      grace: MAYBE_TIME,
      felt: MAYBE_TIME,
      settle: MAYBE_TIME,
      slack: MAYBE_TIME,
      delay: MAYBE_TIME,
    },
  },
  ask: {
    ...{ ...ATTEMPT, weight: POSITIVE, capacity: POSITIVE, fair: FLAG },
    ...{ wait: MAYBE_TIME, owner: MAYBE_TEXT, back: MAYBE_FLAG },
  },
  queued: { ...ATTEMPT, ticket: POSITIVE },
  grant: {
    ...{ ...ATTEMPT, id: TEXT, fence: POSITIVE },
    held: MAYBE_FLAG,
  },
  fail: { ...ATTEMPT, code: ['null or a string', (value) => value === null || isText(value)] },
  hold: ATTEMPT,
  release: ATTEMPT,
  released: { ...ATTEMPT, outcome: TEXT },
  lost: ATTEMPT,
  use: { ...ATTEMPT, fence: POSITIVE, accepted: FLAG, sent: MAYBE_TIME, at: MAYBE_COUNT },
  force: { k: TEXT, id: MAYBE_TEXT },
  forced: { k: TEXT, id: MAYBE_TEXT },
  resize: { k: TEXT, capacity: POSITIVE },
  resized: { k: TEXT, capacity: POSITIVE, accepted: FLAG },
  weight: { ...ATTEMPT, weight: POSITIVE, fence: POSITIVE, held: MAYBE_FLAG },
  park: { ...ATTEMPT, c: TEXT },
  woken: {
    ...ATTEMPT,
    c: TEXT,
    signalled: ['null, true or false', (v) => v === null || isFlag(v)],
  },
  signal: { ...ATTEMPT, c: TEXT },
  signalled: { ...ATTEMPT, c: TEXT, count: ['null or a count', (v) => v === null || isCount(v)] },
  run: { ...ATTEMPT, slot: TEXT, retention: TIME },
  count: { ...CALL, size: POSITIVE, by: POSITIVE },
  counted: { ...CALL, left: COUNT },
  await: {
    ...{ ...CALL, size: POSITIVE, wait: MAYBE_TIME },
    gate: ['latch or barrier', (value) => value === 'latch' || value === 'barrier'],
  },
  passed: { ...CALL, generation: MAYBE_COUNT, index: MAYBE_COUNT },
  stopped: { ...CALL, code: TEXT },
  stalled: { ms: TIME },
  crash: {},
  fault: {
    kind: TEXT,
    step: MAYBE_TIME,
    phase: ['begin, end or once', (value) => /^(begin|end|once)$/.test(String(value))],
  },
  calm: {},
  amnesia: { k: MAYBE_TEXT, from: MAYBE_COUNT, to: MAYBE_COUNT },
  seen: {
    k: TEXT,
    holders: ['a list of { id, fence, weight }', (v) => Array.isArray(v) && v.every(isHolder)],
    waiters: ['a list of ids', (v) => Array.isArray(v) && v.every(isText)],
    last: MAYBE_FLAG,
  },
  end: {},
};

/** The same as lists: iterating over an object for each of millions of lines is slow. */
const RULES: ReadonlyMap<unknown, readonly Rule[]> = new Map(
  Object.entries(FIELDS).map(([name, fields]) => [
    name,
    Object.entries({ ...STAMP, ...fields }).map(([field, rule]): Rule => [field, ...rule]),
  ]),
);

/** A line is not a valid event. The message names the line and the error. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

/** Parses one line. `where` names the line in errors. */
export function parseLine(text: string, where: string): HistoryEvent {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FormatError(`${where}: not JSON: ${shorten(text)}`);
  }
  return validate(value, where);
}

/** Validates a value as an event. */
export function validate(value: unknown, where: string): HistoryEvent {
  if (!isRecord(value)) throw new FormatError(`${where}: not an object: ${shorten(value)}`);
  const name = value['e'];
  const rules = RULES.get(name);
  if (rules === undefined) throw new FormatError(`${where}: unknown event: ${shorten(name)}`);
  for (const [field, expected, check] of rules) {
    if (check(value[field])) continue;
    const got = shorten(value[field]);
    throw new FormatError(`${where}: ${String(name)}.${field} must be ${expected}, not ${got}`);
  }
  return value as unknown as HistoryEvent;
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
