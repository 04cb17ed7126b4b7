/**
 * The history of a run: what processes asked for, got and gave back, one event a line.
 *
 * `t` is in ms on one timeline for all processes; `p` names the process; `e` the event; `k` the
 * key; `a` the attempt, unique in the whole history. An attempt goes one of these ways:
 *
 *     ask [queued] --grant--> believed --release--> released
 *        \                       \---lost (signal, or `held` turned false)
 *         \--fail (code, or null for a refusal by value)
 *
 * Whoever writes may add fields of its own: what is not named here is not judged. Fields that are
 * named are validated, because a check that reads nonsense would find nothing.
 */

/** When, and in which process. */
export interface Stamp {
  readonly t: number;
  readonly p: string;
}

/** The run begins: the settings that bounds are taken from. All of them are optional. */
export interface Begin {
  readonly e: 'begin';
  readonly localHandOffs?: number;
  readonly claimWindow?: number;
  readonly ttl?: number;
  readonly requestTimeout?: number;
  /** Ms after `calm`, or after a later ask, by which every ask has ended. */
  readonly settle?: number;
  /** Ms by which timers and answers may be late on a busy machine. Default 5,000. */
  readonly slack?: number;
  /** Longest time in ms that a message takes where nothing is broken. Default 0. */
  readonly delay?: number;
  /** Ms for which what was given up unanswered may still hold or wait in the store. */
  readonly grace?: number;
  readonly seed?: number | string;
}

/** An acquisition is called. `wait` is left out where there is no limit. */
export interface Ask {
  readonly e: 'ask';
  readonly k: string;
  readonly a: string;
  readonly weight: number;
  readonly capacity: number;
  readonly fair: boolean;
  readonly wait?: number;
  /** Acquisitions of one owner share a lease, and its fence. */
  readonly owner?: string;
  /** It came back from a condition: since when it was in the queue is not known. */
  readonly back?: boolean;
}

/** The store has put the attempt into its queue, with this ticket. */
export interface Queued {
  readonly e: 'queued';
  readonly k: string;
  readonly a: string;
  readonly ticket: number;
}

/** The acquisition resolved to a lease. */
export interface Grant {
  readonly e: 'grant';
  readonly k: string;
  readonly a: string;
  /** The id of the acquisition, as the store knows it. */
  readonly id: string;
  readonly fence: number;
  /** `false` if `lease.held` was not true any more when this was written. */
  readonly held?: boolean;
}

/** The acquisition ended without a lease. `null`: a refusal by value. */
export interface Fail {
  readonly e: 'fail';
  readonly k: string;
  readonly a: string;
  readonly code: string | null;
}

/** The process asked `lease.held`, and it was true. */
export interface Hold {
  readonly e: 'hold';
  readonly k: string;
  readonly a: string;
}

/** The release is called. */
export interface Release {
  readonly e: 'release';
  readonly k: string;
  readonly a: string;
}

/** The release has returned, or failed: `outcome` is what it resolved to, or the error's code. */
export interface Released {
  readonly e: 'released';
  readonly k: string;
  readonly a: string;
  readonly outcome: string;
}

/** The lease's signal aborted, or `held` turned false without a release. */
export interface Lost {
  readonly e: 'lost';
  readonly k: string;
  readonly a: string;
}

/** The fenced resource was written to. */
export interface Use {
  readonly e: 'use';
  readonly k: string;
  readonly a: string;
  readonly fence: number;
  readonly accepted: boolean;
}

/** A forced release is called (`force`), and has returned (`forced`). No `id`: all leases. */
export interface Force {
  readonly e: 'force' | 'forced';
  readonly k: string;
  readonly id?: string;
}

/** A new capacity is asked for. */
export interface Resize {
  readonly e: 'resize';
  readonly k: string;
  readonly capacity: number;
}

/** The process did nothing for the last `ms`: it computed, or was not given the processor. */
export interface Stalled {
  readonly e: 'stalled';
  readonly ms: number;
}

/** The process ended without warning. */
export interface Crash {
  readonly e: 'crash';
}

/** Something was broken or mended. A fault with phases has the same `p` and `kind` in both. */
export interface Fault {
  readonly e: 'fault';
  readonly kind: string;
  readonly phase: 'begin' | 'end' | 'once';
  /** Ms by which a clock was set. */
  readonly step?: number;
}

/** No fault from here on. */
export interface Calm {
  readonly e: 'calm';
}

/** A store lost its memory. */
export interface Amnesia {
  readonly e: 'amnesia';
}

/** What the store showed of a key when everything was over. */
export interface Seen {
  readonly e: 'seen';
  readonly k: string;
  readonly holders: readonly { id: string; fence: number; weight: number }[];
  readonly waiters: readonly string[];
}

/** The run is over. */
export interface End {
  readonly e: 'end';
}

/** What happened. */
export type Happening =
  | (Begin | Ask | Queued | Grant | Fail | Hold | Release | Released | Lost | Use)
  | (Force | Resize | Stalled | Crash | Fault | Calm | Amnesia | Seen | End);

/** What happened, when and where: one line of a history. */
export type HistoryEvent = Happening & Stamp;

/** The events of one attempt. */
export type AttemptEvent = Extract<HistoryEvent, { readonly a: string }>;

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
const MAYBE_TEXT = ['left out or a non-empty string', isOptional(isText)] as const;
const MAYBE_FLAG = ['left out, true or false', isOptional(isFlag)] as const;
const MAYBE_TIME = ['left out or a finite number', isOptional(isTime)] as const;

const STAMP: Fields = { t: TIME, p: TEXT };
const ATTEMPT: Fields = { k: TEXT, a: TEXT };

const FIELDS: Readonly<Record<HistoryEvent['e'], Fields>> = {
  begin: {
    ...{ localHandOffs: ['left out or a whole number from 0', isOptional(isCount)] },
    ...{ claimWindow: MAYBE_TIME, ttl: MAYBE_TIME, requestTimeout: MAYBE_TIME },
    ...{ grace: MAYBE_TIME, settle: MAYBE_TIME, slack: MAYBE_TIME, delay: MAYBE_TIME },
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
  use: { ...ATTEMPT, fence: POSITIVE, accepted: FLAG },
  force: { k: TEXT, id: MAYBE_TEXT },
  forced: { k: TEXT, id: MAYBE_TEXT },
  resize: { k: TEXT, capacity: POSITIVE },
  stalled: { ms: TIME },
  crash: {},
  fault: {
    kind: TEXT,
    step: MAYBE_TIME,
    phase: ['begin, end or once', (value) => /^(begin|end|once)$/.test(String(value))],
  },
  calm: {},
  amnesia: {},
  seen: {
    k: TEXT,
    holders: ['a list of { id, fence, weight }', (v) => Array.isArray(v) && v.every(isHolder)],
    waiters: ['a list of ids', (v) => Array.isArray(v) && v.every(isText)],
  },
  end: {},
};

/** The same as lists: walking an object for each of millions of lines is slow. */
const RULES: ReadonlyMap<unknown, readonly Rule[]> = new Map(
  Object.entries(FIELDS).map(([name, fields]) => [
    name,
    Object.entries({ ...STAMP, ...fields }).map(([field, rule]): Rule => [field, ...rule]),
  ]),
);

/** A line that is no event: says where it is, and what is wrong with it. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

/** Reads one line. `where` names it in errors. */
export function parseLine(text: string, where: string): HistoryEvent {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FormatError(`${where}: not JSON: ${shorten(text)}`);
  }
  return validate(value, where);
}

/** Takes a value for an event, or says what is wrong. */
export function validate(value: unknown, where: string): HistoryEvent {
  if (!isRecord(value)) throw new FormatError(`${where}: not an object: ${shorten(value)}`);
  const name = value['e'];
  const rules = RULES.get(name);
  if (rules === undefined) throw new FormatError(`${where}: no such event: ${shorten(name)}`);
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
