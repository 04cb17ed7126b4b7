/** A run of a world with a store of its own: its faults, and its end. */
import type { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';
import type { Client, Leases, Violation } from './leases.js';
import type { Tasks, Workplace } from './tasks.js';

/** How long tasks may take after the last fault, and processes to close, in ms. */
const REST_MS = 60_000;
/** Longer than any lease and any late copy of a request. */
export const OVER_MS = 40_000;
/** Closing waits for turns of Node's event loop, which are outside virtual time. */
const CLOSE_TURNS = 60;

export interface World extends Workplace {
  readonly plan: Workplace['plan'] & {
    readonly processes: number;
    /** Virtual ms with faults. */
    readonly ms: number;
    /** Ms between two faults, at most. */
    readonly faults: number;
  };
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly leases: Leases;
  readonly violations: readonly Violation[];
  readonly clients: readonly Client[];
  /** The time at which all servers answer again. */
  readonly silentUntil: number;
  open(): Client;
  fault(): void;
  report(kind: string, text: string): void;
  /** Called when all acquisitions have ended: judges what is left. */
  last(until: (ms: number) => Promise<void>): Promise<void>;
}

/** Runs a world until its faults are over and its processes have closed. */
export async function runWorld<W extends World>(world: W, tasks: Tasks<W>): Promise<void> {
  const { scheduler, violations, plan } = world;
  const failed = (): boolean => violations.length > 0;
  const faults = world.random.fork('faults');
  const start = (): void => {
    while (world.clients.length < plan.processes) tasks.start(world.open());
  };
  start();
  while (scheduler.now < plan.ms && !failed()) {
    const before = scheduler.now;
    const next = before + faults.between(20, plan.faults);
    await scheduler.runUntil(next, failed);
    // the scheduler stops at its last event
    if (scheduler.now === before) scheduler.now = next;
    world.leases.look();
    world.fault();
    start();
  }
  if (!failed()) await end(world, tasks);
  await scheduler.settle();
}

/**
 * The servers that are still silent answer again. Then all faults are over: all acquisitions end,
 * nothing remains, and the processes close.
 */
async function end<W extends World>(world: W, tasks: Tasks<W>): Promise<void> {
  const { scheduler, violations, clients } = world;
  const until = async (ms: number, done: () => boolean = () => false): Promise<void> => {
    const stop = (): boolean => done() || violations.length > 0;
    const end = scheduler.now + ms;
    await scheduler.runUntil(end, stop);
    // the scheduler stops at its last event
    if (!stop()) scheduler.now = Math.max(scheduler.now, end);
  };
  tasks.over = true;
  await until(Math.max(0, world.silentUntil) - scheduler.now);
  const open = (): Client[] => clients.filter((client) => tasks.open(client) > 0);
  await until(REST_MS, () => open().length === 0);
  for (const { process } of open()) world.report('stuck', `tasks of ${process.name} do not end`);
  await until(OVER_MS);
  await world.last(until);
  let closing = clients.length;
  for (const { holdfast } of clients) void holdfast.close({ grace: 0 }).then(() => (closing -= 1));
  for (let turn = 0; turn < CLOSE_TURNS && closing > 0; turn++) {
    await scheduler.settle();
    await until(REST_MS / CLOSE_TURNS, () => closing === 0);
  }
  if (closing > 0) world.report('stuck', `${closing} processes do not close`);
}
