/** Locks as text. */
import type { HolderInfo, LockInfo, WaiterInfo } from 'holdfast';
import { colors } from './output.js';
import { table } from './table.js';
import { inWords, nameOf, printable } from './words.js';

/** The permits of a read-write lock. */
const RW_PERMITS = 2 ** 30;

/** What kind of lock it is, and how much of it is in use. */
export function useOf({ holderCount, permits, used }: LockInfo): string {
  if (permits === 1) return used === 0 ? 'free' : 'held';
  if (permits < RW_PERMITS) return `${used} of ${permits}`;
  if (used === RW_PERMITS) return 'writer';
  return holderCount === 1 ? '1 reader' : `${holderCount} readers`;
}

/** All acquisitions that wait, also those inside the processes of waiters and holders. */
export function waitingOf({ holders, waiterCount, waiters }: LockInfo): number {
  const more = waiters.reduce((sum, one) => sum + one.localWaiters - 1, 0);
  return waiterCount + more + holders.reduce((sum, one) => sum + one.localWaiters, 0);
}

const HEAD = ['KEY', 'STATE', 'HOLDER', 'HELD', 'LEFT', 'WAITING'];

/** One line for each lock. `more` adds columns. */
export function lockTable(
  locks: readonly LockInfo[],
  more: { readonly head: readonly string[]; readonly cells: (lock: LockInfo) => string[] } = {
    head: [],
    cells: () => [],
  },
): string {
  const rows = locks.map((lock) => [...cellsOf(lock), ...more.cells(lock)]);
  return table([...HEAD, ...more.head], rows);
}

function cellsOf(lock: LockInfo): string[] {
  const { bold, yellow } = colors();
  const waiting = waitingOf(lock);
  const [first] = lock.holders;
  return [
    bold(printable(lock.key)),
    useOf(lock),
    first === undefined ? '' : `${nameOf(first)}${others(lock.holderCount - 1)}`,
    first === undefined ? '' : inWords(Math.max(...lock.holders.map(({ heldFor }) => heldFor))),
    first === undefined ? '' : inWords(first.remaining),
    waiting === 0 ? '0' : yellow(String(waiting)),
  ];
}

function others(count: number): string {
  return count > 0 ? ` and ${count} more` : '';
}

/** All that is known of a lock. */
export function lockDetails(lock: LockInfo): string {
  const { bold } = colors();
  const lines = [
    `${bold(printable(lock.key))}  ${useOf(lock)}, last fence ${lock.fence}`,
    ...section('held by', lock.holderCount, holderTable(lock.holders)),
    ...section('in the queue', lock.waiterCount, waiterTable(lock.waiters)),
  ];
  if (lock.parkedCount > 0) {
    const rows = lock.parked.map((one) => [
      nameOf(one),
      printable(one.condition),
      inWords(one.waitedFor),
    ]);
    const parked = table(['NAME', 'CONDITION', 'WAITED'], rows);
    lines.push(...section('at conditions', lock.parkedCount, parked));
  }
  return lines.join('\n');
}

function section(title: string, total: number, body: string): string[] {
  return total === 0 ? [] : ['', `${title} (${total}):`, body];
}

function holderTable(holders: readonly HolderInfo[]): string {
  const rows = holders.map((one) => [
    nameOf(one),
    String(one.permits === RW_PERMITS ? 'all' : one.permits),
    inWords(one.heldFor),
    inWords(one.remaining),
    String(one.fence),
    one.localWaiters === 0 ? '' : String(one.localWaiters),
    printable(one.id),
  ]);
  return table(['NAME', 'PERMITS', 'HELD', 'LEFT', 'FENCE', 'WAITING', 'ID'], rows);
}

function waiterTable(waiters: readonly WaiterInfo[]): string {
  const rows = waiters.map((one, at) => [
    String(at + 1),
    nameOf(one),
    String(one.permits === RW_PERMITS ? 'all' : one.permits),
    inWords(one.waitedFor),
    one.localWaiters > 1 ? String(one.localWaiters) : '',
  ]);
  return table(['PLACE', 'NAME', 'PERMITS', 'WAITED', 'WAITING'], rows);
}
