/** What the processes of a world with a store of its own do: they take locks, and work. */
import type { Random } from '../base/random.js';
import type { Arrivals } from './arrivals.js';
import type { Belief, Client } from './leases.js';
import type { Ways } from './line.js';
import { Orderly } from './orderly.js';

export const SEMAPHORE = 3;
const RW = 2 ** 30;
export const KEYS: readonly string[] = ['mutex', 'fair', 'semaphore', 'rw', 'long'];
/** The lease of a task that works for long, in ms, and for how long it works. */
const LONG = { ttl: 150_000, work: 100_000 };

interface TasksPlan extends Ways {
  readonly tasks: number;
  readonly ttl: number;
  readonly claimWindow: number;
  /** The longest pause of a task, in ms. */
  readonly pause: number;
  /** Nothing disturbs the processes, so the order of the calls is judged. */
  readonly orderly: boolean;
}

/** The world in which the tasks run. */
export interface Workplace {
  readonly plan: TasksPlan;
  readonly random: Random;
  readonly scheduler: { readonly now: number };
  readonly leases: { granted(name: string, capacity: number, belief: Belief): () => void };
  readonly arrivals: Arrivals;
  report(kind: string, text: string): void;
}

export class Tasks<W extends Workplace> {
  readonly world: W;
  over = false;
  readonly #isHoldfastError: (error: unknown) => boolean;
  readonly #open = new Map<Client, number>();
  readonly #orderly: Orderly;

  constructor(world: W, isHoldfastError: (error: unknown) => boolean) {
    this.world = world;
    this.#isHoldfastError = isHoldfastError;
    this.#orderly = new Orderly(world);
  }

  start(client: Client): void {
    const { plan, random } = this.world;
    for (let at = 0; at < plan.tasks; at++) {
      void this.#work(client, random.fork(`${client.process.name} ${at}`));
    }
  }

  /** The number of tasks of a process that have not ended. */
  open(client: Client): number {
    return this.#open.get(client) ?? 0;
  }

  /** One step of a task. Errors of the library end it. */
  protected async once(client: Client, random: Random): Promise<void> {
    const { holdfast } = client;
    const renew = random.chance(0.85);
    const options = { wait: random.chance(0.1) ? 0 : random.spread(50, 4000), renew };
    if (random.chance(0.2)) return void (await holdfast.inspect(random.pick(KEYS)));
    if (random.chance(0.02)) return this.#arrive(client);
    const isSlow = this.world.plan.pause > 1000;
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
    const end = this.world.leases.granted(name, capacity, { lease, weight, client });
    await this.rest(client, random, renew);
    end();
    await lease.release();
  }

  /** Works under a lease, sometimes for longer than it lasts. */
  protected rest({ process }: Client, random: Random, renew: boolean): Promise<void> {
    const long = random.chance(renew ? 0.02 : 0.2);
    return process.sleep(
      long ? random.between(0, 2 * this.world.plan.ttl) : random.spread(0.1, 20),
    );
  }

  async #work(client: Client, random: Random): Promise<void> {
    this.#open.set(client, this.open(client) + 1);
    while (!this.over) {
      await client.process.sleep(random.spread(0.5, this.world.plan.pause));
      try {
        if (this.world.plan.orderly && random.chance(0.5)) await this.#orderly.step(client, random);
        else await this.once(client, random);
      } catch (error) {
        if (!this.#isHoldfastError(error)) throw error;
      }
    }
    this.#open.set(client, this.open(client) - 1);
  }

  /** A lease that lasts for longer than a server without memory may need to vote again. */
  async #workLong(client: Client, random: Random): Promise<void> {
    const options = { ttl: LONG.ttl, renew: false, wait: 0 };
    const lease = await client.holdfast.mutex('long').tryAcquire(options);
    if (lease === null) return;
    const { leases, scheduler } = this.world;
    const end = leases.granted('long', 1, { lease, weight: 1, client });
    const till = scheduler.now + random.spread(100, LONG.work);
    while (scheduler.now < till && !this.over) await client.process.sleep(500);
    end();
    await lease.release();
  }

  /** Records of latches last for long. */
  async #arrive({ holdfast }: Client): Promise<void> {
    await holdfast.latch('latch', { count: 100_000, ttl: 600_000 }).countDown();
  }
}
