/** Decodes `inspect`. */
import type * as T from '../../engine/commands.js';
import { kindOf } from '../../engine/kinds.js';
import { UnreadableRecord } from '../port.js';

/** Another program may have written the record, so any answer is possible. */
export function inspected(now: number, list: readonly unknown[]): T.InspectReply {
  try {
    return viewOf(now, list);
  } catch (error) {
    throw new UnreadableRecord(error instanceof Error ? error.message : String(error), error);
  }
}

function viewOf(now: number, list: readonly unknown[]): T.InspectReply {
  return {
    status: 'inspected',
    now,
    kind: kindOf(finite(list[2])),
    capacity: finite(list[3]),
    used: finite(list[4]),
    fence: finite(list[5]),
    holderCount: finite(list[6]),
    waiterCount: finite(list[7]),
    holders: listOf(list[8]).map(holderView),
    waiters: listOf(list[9]).map(waiterView),
    parkedCount: finite(list[10]),
    parked: listOf(list[11]).map(parkedView),
  };
}

const NO_RECORD = 1;
const NONE = { holderCount: 0, waiterCount: 0, waiters: [], parkedCount: 0, parked: [] } as const;

/**
 * One result of `inspectMany`; `undefined` if the resource needs its own call, also for an
 * unreadable record.
 */
export function plainlyInspected(now: number, raw: unknown): T.InspectReply | undefined {
  const nobody = { status: 'inspected', now, used: 0, holders: [], ...NONE } as const;
  if (!Array.isArray(raw)) {
    if (Number(raw) !== NO_RECORD) return undefined;
    return { ...nobody, kind: kindOf(0), capacity: 0, fence: 0 };
  }
  const [first, fence, handOffs, left, tasks, since, meta] = raw as unknown[];
  if (raw.length === 1) {
    if (!isNumber(first)) return undefined;
    return { ...nobody, kind: 'mutex', capacity: 1, fence: Number(first) };
  }
  const numbers = [fence, handOffs, left, tasks, since];
  if (!numbers.every(isNumber) || typeof first !== 'string' || typeof meta !== 'string') {
    return undefined;
  }
  const holder: T.HolderView = {
    id: first,
    owner: '',
    weight: 1,
    fence: Number(fence),
    handOffs: Number(handOffs),
    left: Number(left),
    holds: 1,
    tasks: Number(tasks),
    since: Number(since),
    meta,
    ids: [],
  };
  return {
    status: 'inspected',
    now,
    kind: 'mutex',
    capacity: 1,
    used: 1,
    fence: holder.fence + holder.handOffs,
    holderCount: 1,
    waiterCount: 0,
    holders: [holder],
    waiters: [],
    parkedCount: 0,
    parked: [],
  };
}

/** RESP3 clients and options may return texts. */
const isNumber = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value));

function holderView(raw: unknown): T.HolderView {
  const [id, owner, weight, fence, handOffs, left, holds, tasks, since, meta, ids] = listOf(raw);
  return {
    id: String(id),
    owner: String(owner),
    weight: finite(weight),
    fence: finite(fence),
    handOffs: finite(handOffs),
    left: finite(left),
    holds: finite(holds),
    tasks: finite(tasks),
    since: finite(since),
    meta: String(meta),
    ids: listOf(ids).map(String),
  };
}

function waiterView(raw: unknown): T.WaiterView {
  const [id, owner, weight, ticket, fair, tasks, meta] = listOf(raw);
  return {
    id: String(id),
    owner: String(owner),
    weight: finite(weight),
    ticket: finite(ticket),
    fair: finite(fair) === 1,
    tasks: finite(tasks),
    meta: String(meta),
  };
}

function parkedView(raw: unknown): T.ParkedView {
  const [id, owner, condition, since, meta] = listOf(raw);
  return {
    id: String(id),
    owner: String(owner),
    condition: String(condition),
    since: finite(since),
    meta: String(meta),
  };
}

function finite(value: unknown): number {
  const number = Number(value);
  if (value !== null && Number.isFinite(number)) return number;
  throw new TypeError(`Holdfast: a number was expected of a script, not ${String(value)}`);
}

export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new TypeError(`Holdfast: a script returned ${typeof value} instead of a list`);
}
