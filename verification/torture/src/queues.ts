/**
 * Reads the queues in the store while no fault is active, and records which attempt waits with
 * which ticket. The label of a waiter is the name of its attempt.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast } from 'holdfast';
import { connect } from 'holdfast-trials/support/clients';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { MUTEXES, OBSERVER, RW, SEMAPHORE } from './settings.js';
import { note, type Scenario } from './scenario.js';

const KEYS = [...Object.keys(MUTEXES), RW, SEMAPHORE];
const READ_EVERY_MS = 20;

/** Records the queues for `ms` while the processes work. */
export async function recordQueues(scenario: Scenario, ms: number): Promise<void> {
  const { client, close } = await connect('ioredis-6', scenario.main.url);
  const holdfast = new Holdfast(client, OBSERVER);
  const known = new Set<string>();
  const end = monotonic() + ms;
  while (monotonic() < end) {
    await Promise.all(KEYS.map((k) => recordQueue(scenario, holdfast, k, known)));
    await sleep(READ_EVERY_MS);
  }
  await holdfast.close();
  close();
}

async function recordQueue(
  scenario: Scenario,
  holdfast: Holdfast,
  k: string,
  known: Set<string>,
): Promise<void> {
  const queue = (await scenario.main.command(
    ...['ZRANGE', `holdfast:{${k}}:q`, 0, -1, 'WITHSCORES'],
  )) as string[];
  const tickets = new Map<string, number>();
  for (let at = 0; at + 1 < queue.length; at += 2) {
    const [id = '', ticket] = [queue[at], Number(queue[at + 1])];
    if (!known.has(`${id} ${ticket}`)) tickets.set(id, ticket);
  }
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
