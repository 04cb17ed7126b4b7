/** Runs a plan to its end, and returns its violations. */
import { ALL, type HistoryEvent, violations as judged } from 'holdfast-checker';
import type { Library } from './library.js';
import type { Plan } from './plan/plan.js';
import { isFamily } from './work/family/perform.js';
import { type Violation, World } from './world/world.js';

export interface Result {
  readonly violations: readonly Violation[];
  readonly history: readonly HistoryEvent[];
  readonly grants: number;
  /** Commands that the server has executed, and messages that it has sent. */
  readonly commands: number;
  /** Virtual milliseconds until the last acquisition was over. */
  readonly time: number;
  readonly events: number;
  readonly shortest: number;
  /** The first broken invariant of the engine, also if this kind of violation is not reported. */
  readonly broken: string | undefined;
}

/** Time after the last acquisition within which its leases must be released. */
const REST_MS = 20_000;
/** How long a process may take to close. */
const CLOSE_MS = 60_000;

/** @param print receives the lines of the trace */
export async function run(
  plan: Plan,
  library: Library,
  print?: (line: string) => void,
): Promise<Result> {
  const world = new World(plan, library, print);
  const { scheduler, history, violations } = world;
  const failed = (): boolean => violations.length > 0;
  library.enableAssertions(true, (key, problem) => world.invariant(key, problem));
  const late = (reason: unknown): void => {
    world.report('unhandled', '', reason instanceof Error ? (reason.stack ?? '') : String(reason));
  };
  process.on('unhandledRejection', late);
  try {
    const done = (): boolean => world.open === 0 && scheduler.now > plan.calm;
    await scheduler.runUntil(plan.end, () => failed() || done());
    const time = scheduler.now;
    if (!failed() && !done()) stuck(world);
    if (!failed()) await scheduler.runUntil(time + REST_MS, failed);
    if (!failed()) world.watch.last();
    show(world);
    if (!failed()) await close(world);
    history.note(scheduler.now, '-', { e: 'end' });
    await scheduler.settle();
    const { grants, shortest, broken } = world;
    const events = history.sorted();
    if (!failed()) judge(world, events);
    return {
      violations,
      history: events,
      grants,
      commands: world.server.work,
      time,
      shortest,
      broken,
      events: scheduler.count,
    };
  } finally {
    process.removeListener('unhandledRejection', late);
  }
}

/** Violations that the history checker finds; it does not see the store's state. */
function judge(world: World, events: readonly HistoryEvent[]): void {
  for (const { check, excused, t, text } of judged(events, ALL)) {
    // a late duplicate may arrive after its process has closed, and is not withdrawn then
    const isEcho = check === 'ghost' && world.plan.network.doubled > 0;
    if (!excused && !isEcho) world.report(`history: ${check}`, '', text, t);
  }
}

function stuck(world: World): void {
  for (const attempt of world.attempts.values()) {
    if (attempt.over) continue;
    const what = attempt.lease === undefined ? 'waits' : 'holds';
    world.report('stuck', attempt.task.key, `${attempt.name} still ${what}`);
  }
}

/** Checks of the store's state after the run. */
function show(world: World): void {
  const { scheduler, server, history } = world;
  const now = server.now();
  const logged = new Set(world.plan.tasks.flatMap((task) => (isFamily(task) ? [] : [task.key])));
  for (const k of server.engine.keys()) {
    const resource = server.engine.resource(k);
    // tasks without a history are not checked against it
    if (resource === undefined || !logged.has(k)) continue;
    const live = [...resource.holders.values()].filter(({ expires }) => expires > now);
    const holders = live.map(({ id, fence, weight }) => ({ id, fence, weight }));
    history.note(scheduler.now, '-', {
      e: 'seen',
      k,
      holders,
      waiters: [...resource.waiters.keys()],
    });
  }
}

/** Closes everything: no lease or waiter may remain. */
async function close(world: World): Promise<void> {
  const { scheduler } = world;
  const clients = [...world.clients.values()].filter(({ process }) => process.alive);
  let open = clients.length;
  for (const client of clients) {
    client.closing = true;
    client.process.deliver('task', () => {
      void client.holdfast.close().then(() => {
        open -= 1;
        client.redis.close();
      });
    });
  }
  await scheduler.settle();
  // a stopped process closes when it continues
  const latest = Math.max(scheduler.now, ...clients.map(({ process }) => process.freeAt));
  await scheduler.runUntil(latest + CLOSE_MS, () => open === 0);
  if (open > 0) world.report('stuck', '', `${open} processes do not close`);
  await scheduler.runUntil(scheduler.now + CLOSE_MS, () => false);
  for (const client of clients) world.leftovers(client, Number.POSITIVE_INFINITY);
}
