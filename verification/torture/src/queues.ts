/**
 * Reads the queues in the store while no fault is active, and records which attempt waits with
 * which ticket. The label of a waiter is the name of its attempt.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast } from 'holdfast';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { isRegister, MUTEXES, OBSERVER, RW, SEMAPHORE } from './settings.js';
import { note, type Scenario } from './scenario.js';

const KEYS = [...Object.keys(MUTEXES), RW, SEMAPHORE];
const READ_EVERY_MS = 20;
/** A database that takes longer may cost a waiter its turn: it reads and swaps to claim a lease. */
const SLOW_MS = 25;

/**
 * Records the queues for `ms` while the processes work.
 * @param names of the processes
 */
export async function recordQueues(
  scenario: Scenario,
  ms: number,
  names: readonly string[],
): Promise<void> {
  const { store, close } = await scenario.open();
  const holdfast = new Holdfast(store, OBSERVER);
  const known = new Set<string>();
  const end = monotonic() + ms;
  while (monotonic() < end) {
    const from = monotonic();
    await Promise.all(KEYS.map((k) => recordQueue(scenario, holdfast, k, known)));
    const took = monotonic() - from;
    if (isRegister(scenario.store) && took > SLOW_MS) {
      for (const p of names) note(scenario, { e: 'stalled', ms: took }, { p });
    }
    await sleep(READ_EVERY_MS);
  }
  await holdfast.close();
  await close();
}

async function recordQueue(
  scenario: Scenario,
  holdfast: Holdfast,
  k: string,
  known: Set<string>,
): Promise<void> {
  const all = await scenario.tickets(k);
  const tickets = new Map([...all].filter(([id, ticket]) => !known.has(`${id} ${ticket}`)));
  if (tickets.size === 0) return;
  const info = await holdfast.inspect(k);
  const t = monotonic();
  for (const { id, label } of info?.waiters ?? []) {
    const ticket = tickets.get(id);
    if (ticket === undefined || label === undefined) continue;
    known.add(`${id} ${ticket}`);
    note(scenario, { e: 'queued', k, a: label, ticket }, { t });
  }
}
