/** The rows of the list, and the changes between two of its states. */
import type { LockInfo } from 'holdfast';

/** `contended`: held, and others wait. */
export type RowState = 'held' | 'contended' | 'waiting' | 'parked';

/** A lock in the list. It changes only if the lock changes, not with the time. */
export interface Row {
  readonly key: string;
  readonly state: RowState;
  readonly permits: number;
  readonly used: number;
  readonly holders: number;
  readonly waiters: number;
  readonly parked: number;
  /** The first holder, for a person. */
  readonly holder: string;
  readonly fence: number;
  /** When the first holder got it, in ms since 1970 by the clock of this process. */
  readonly since: number;
}

/** The part of a `Holdfast` that the view uses. */
export interface Watched {
  list(pattern?: string): AsyncIterable<LockInfo>;
  inspect(key: string): Promise<LockInfo | null>;
  forceRelease(
    key: string,
    options: { holder: string; reason: string; wait: number },
  ): Promise<{ readonly ended: number; readonly overlap: number }>;
}

/** @param before the row of the same lock in the state before, whose times are kept */
export function rowOf(info: LockInfo, now: number, before: Row | undefined): Row {
  const [first] = info.holders;
  const fence = first?.fence ?? info.fence;
  const same = before !== undefined && before.fence === fence && before.holders > 0;
  const row: Row = {
    key: info.key,
    state: stateOf(info),
    permits: info.permits,
    used: info.used,
    holders: info.holderCount,
    waiters: info.waiterCount,
    parked: info.parkedCount,
    holder: first === undefined ? '' : nameOf(first),
    fence,
    since: first === undefined ? 0 : same ? before.since : Math.round(now - first.heldFor),
  };
  return before !== undefined && JSON.stringify(row) === JSON.stringify(before) ? before : row;
}

function stateOf({ holderCount, waiterCount }: LockInfo): RowState {
  if (holderCount > 0) return waiterCount > 0 ? 'contended' : 'held';
  return waiterCount > 0 ? 'waiting' : 'parked';
}

function nameOf({ label, host, pid, id }: LockInfo['holders'][number]): string {
  const place = host === undefined ? id : `${host}:${pid ?? '?'}`;
  return label === undefined ? place : `${label} on ${place}`;
}

/** What has changed: new and other rows, and the keys that are no longer in use. */
export interface Change {
  readonly rows: readonly Row[];
  readonly gone: readonly string[];
}

export function changeOf(
  before: ReadonlyMap<string, Row>,
  after: ReadonlyMap<string, Row>,
): Change {
  const rows = [...after.values()].filter((row) => before.get(row.key) !== row);
  const gone = [...before.keys()].filter((key) => !after.has(key));
  return { rows, gone };
}
