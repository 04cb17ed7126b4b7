/** Runs a plan of a quorum to its end. */
import type { Random } from '../base/random.js';
import type { QuorumLibrary } from './library.js';
import type { QuorumPlan } from './plan.js';
import { type Client, QuorumWorld, type Violation } from './world.js';

export interface QuorumResult {
  readonly violations: readonly Violation[];
  readonly grants: number;
  readonly restarts: number;
  readonly crashes: number;
  /** Steps of the clock of a server. */
  readonly steps: number;
  readonly events: number;
}

/** How long tasks may take after the last fault, and processes to close, in ms. */
const REST_MS = 60_000;
/** Longer than any lease and any late copy of a request. */
const OVER_MS = 40_000;
/** The longest time for which a server may not vote for a key because of the records of it. */
const RECORD_MS = 800_000;
/** Closing waits for turns of Node's event loop, which are outside virtual time. */
const CLOSE_TURNS = 60;
const SEMAPHORE = 3;
const RW = 2 ** 30;
const KEYS = ['mutex', 'fair', 'semaphore', 'rw', 'long'];
/** The lease of a task that works for long, in ms, and for how long it works. */
const LONG = { ttl: 150_000, work: 100_000 };

class Tasks {
  readonly #world: QuorumWorld;
  readonly #library: QuorumLibrary;
  over = false;
  readonly #open = new Map<Client, number>();

  constructor(world: QuorumWorld, library: QuorumLibrary) {
    this.#world = world;
    this.#library = library;
  }

  start(client: Client): void {
    const { plan, random } = this.#world;
    for (let at = 0; at < plan.tasks; at++) {
      void this.#work(client, random.fork(`${client.process.name} ${at}`));
    }
  }

  /** The number of tasks of a process that have not ended. */
  open(client: Client): number {
    return this.#open.get(client) ?? 0;
  }

  async #work(client: Client, random: Random): Promise<void> {
    this.#open.set(client, this.open(client) + 1);
    while (!this.over) {
      await client.process.sleep(random.spread(0.5, this.#world.plan.pause));
      try {
        await this.#once(client, random);
      } catch (error) {
        if (!this.#library.isHoldfastError(error)) throw error;
      }
    }
    this.#open.set(client, this.open(client) - 1);
  }

  async #once(client: Client, random: Random): Promise<void> {
    const { plan } = this.#world;
    const { holdfast, process } = client;
    const renew = random.chance(0.85);
    const options = { wait: random.chance(0.1) ? 0 : random.spread(50, 4000), renew };
    if (random.chance(0.2)) return void (await holdfast.inspect(random.pick(KEYS)));
    if (random.chance(0.02)) return this.#arrive(client);
    const isSlow = plan.pause > 1000;
    if (isSlow && random.chance(0.05)) return this.#workLong(client, random);
    const kind = random.next();
    let granted: [string, number, number];
    let lease;
    if (kind < 0.6) {
      granted = ['mutex', 1, 1];
      lease = await holdfast.mutex('mutex').tryAcquire(options);
    } else if (kind < 0.75) {
      granted = ['fair', 1, 1];
      lease = await holdfast.mutex('fair', { fair: true }).tryAcquire(options);
    } else if (kind < 0.9) {
      const weight = random.whole(1, SEMAPHORE);
      granted = ['semaphore', SEMAPHORE, weight];
      lease = await holdfast
        .semaphore('semaphore', { permits: SEMAPHORE })
        .tryAcquire(weight, options);
    } else {
      const writes = random.chance(0.4);
      granted = ['rw', RW, writes ? RW : 1];
      const { read, write } = holdfast.rwLock('rw');
      lease = await (writes ? write : read).tryAcquire(options);
    }
    if (lease === null) return;
    const [name, capacity, weight] = granted;
    const end = this.#world.granted(name, capacity, { lease, weight, client });
    const long = random.chance(renew ? 0.02 : 0.2);
    await process.sleep(long ? random.between(0, 2 * plan.ttl) : random.spread(0.1, 20));
    end();
    await lease.release();
  }

  /** A lease that lasts for longer than a server without memory may need to vote again. */
  async #workLong(client: Client, random: Random): Promise<void> {
    const options = { ttl: LONG.ttl, renew: false, wait: 0 };
    const lease = await client.holdfast.mutex('long').tryAcquire(options);
    if (lease === null) return;
    const end = this.#world.granted('long', 1, { lease, weight: 1, client });
    const till = this.#world.scheduler.now + random.spread(100, LONG.work);
    while (this.#world.scheduler.now < till && !this.over) await client.process.sleep(500);
    end();
    await lease.release();
  }

  /** Records of latches last for long. `fork` is asserted of them, as of all records. */
  async #arrive({ holdfast }: Client): Promise<void> {
    await holdfast.latch('latch', { count: 100_000, ttl: 600_000 }).countDown();
  }
}

export async function runQuorum(plan: QuorumPlan, library: QuorumLibrary): Promise<QuorumResult> {
  const world = new QuorumWorld(plan, library);
  const { scheduler, violations, counts } = world;
  const failed = (): boolean => violations.length > 0;
  const tasks = new Tasks(world, library);
  const faults = world.random.fork('faults');
  const start = (): void => {
    while (world.clients.length < plan.processes) tasks.start(world.open());
  };
  start();
  while (scheduler.now < plan.ms && !failed()) {
    await scheduler.runUntil(scheduler.now + faults.between(20, plan.faults), failed);
    world.look();
    world.fault();
    start();
  }
  if (!failed()) await end(world, tasks);
  await scheduler.settle();
  return { ...counts, violations, events: scheduler.count };
}

/**
 * The servers that are still silent answer again. Then all faults are over: all acquisitions end,
 * nothing remains, and the processes close.
 */
async function end(world: QuorumWorld, tasks: Tasks): Promise<void> {
  const { scheduler, violations, clients } = world;
  const until = async (ms: number, done: () => boolean): Promise<void> => {
    const stop = (): boolean => done() || violations.length > 0;
    await scheduler.runUntil(scheduler.now + ms, stop);
  };
  tasks.over = true;
  const silences = world.nodes.map(({ frozenUntil, cutUntil }) => Math.max(frozenUntil, cutUntil));
  await until(Math.max(0, ...silences) - scheduler.now, () => false);
  const open = (): Client[] => clients.filter((client) => tasks.open(client) > 0);
  await until(REST_MS, () => open().length === 0);
  for (const { process } of open()) world.report('stuck', `tasks of ${process.name} do not end`);
  await until(OVER_MS, () => false);
  for (let left = RECORD_MS; left > 0 && (await world.waits(KEYS)); left -= OVER_MS)
    await until(OVER_MS, () => false);
  world.last(KEYS);
  let closing = clients.length;
  for (const { holdfast } of clients) void holdfast.close({ grace: 0 }).then(() => (closing -= 1));
  for (let turn = 0; turn < CLOSE_TURNS && closing > 0; turn++) {
    await scheduler.settle();
    await until(REST_MS / CLOSE_TURNS, () => closing === 0);
  }
  if (closing > 0) world.report('stuck', `${closing} processes do not close`);
}
