/**
 * Waits for a computation, several locks and a latch that end soon after these are free, without
 * pushes. A call asks once more then, so it must not end with `HOLDFAST_TIMEOUT` (`missed`).
 */
import type { Random } from '../base/random.js';
import type { Client } from '../common/leases.js';
import type { RegisterWorld } from './world.js';

const KEYS: readonly string[] = ['end0', 'end1', 'end2'];
/** The keys of locks. */
export const END_KEYS: readonly string[] = ['flight', ...KEYS];
/** A latch is opened and reset in this time, in ms. */
const ROUND_MS = 1500;
/** Waits are long, so that the pauses between polls are. */
const LONG_MS = 1600;
/** How much later than the expected end most waits end, in ms. */
const AFTER_MS = 80;
/** The messages from the last answer to the error, which names the holder. */
const MESSAGES = 4;
const SLACK_MS = 5;
/** Several keys are asked in one turn, and the last answer counts. Lost races make it late. */
const TURN_MS = 60;

export class Ends {
  readonly #world: RegisterWorld;
  /** When something is expected to be free, by its key. */
  readonly #expected = new Map<string, number>();
  readonly #busy = new Set<string>();

  constructor(world: RegisterWorld) {
    this.#world = world;
  }

  async once(client: Client, random: Random): Promise<void> {
    const kind = random.next();
    if (kind < 0.2) return this.#open(client, random);
    const isFlight = kind < 0.5;
    // what another task of the process holds is not free
    const about = `${isFlight ? 'flight' : 'locks'} of ${client.process.name}`;
    if (this.#busy.has(about)) return;
    this.#busy.add(about);
    try {
      if (isFlight) await this.#fly(client, random);
      else if (kind < 0.75) await this.#hold(client, random.pick(KEYS), random);
      else await this.#takeAll(client, random);
    } finally {
      this.#busy.delete(about);
    }
  }

  async #takeAll(client: Client, random: Random): Promise<void> {
    const wait = this.#wait(KEYS[0] as string, random);
    const lease = await this.#judged(client, KEYS, client.holdfast.allOf(KEYS).acquire({ wait }));
    await lease.release();
  }

  async #fly(client: Client, random: Random): Promise<void> {
    const compute = async (): Promise<void> => {
      const ms = this.#begin('flight', random);
      await client.process.sleep(ms);
    };
    const wait = this.#wait('flight', random);
    const flight = client.holdfast.singleFlight('flight').do(compute, { wait });
    await this.#judged(client, ['flight'], flight);
  }

  async #hold(client: Client, key: string, random: Random): Promise<void> {
    const lease = await client.holdfast.mutex(key).tryAcquire({ wait: 0 });
    if (lease === null) return;
    await client.process.sleep(this.#begin(key, random));
    await lease.release();
  }

  async #open({ holdfast, process, prefix }: Client, random: Random): Promise<void> {
    const round = Math.floor(this.#world.scheduler.now / ROUND_MS);
    const key = `latch${round}`;
    const latch = holdfast.latch(key, { count: 1 });
    const opensAt = round * ROUND_MS + ROUND_MS / 2 + (round % 7) * 50;
    this.#expected.set(key, opensAt);
    if (random.chance(0.5)) {
      await process.sleep(Math.max(1, opensAt - this.#world.scheduler.now));
      return void (await latch.countDown());
    }
    const opened = latch.await({ wait: this.#wait(key, random) });
    await this.#judged({ holdfast, process, prefix }, [key], opened);
  }

  #begin(key: string, random: Random): number {
    const ms = random.spread(20, LONG_MS);
    this.#expected.set(key, this.#world.scheduler.now + ms);
    return ms;
  }

  #wait(key: string, random: Random): number {
    const left = (this.#expected.get(key) ?? 0) - this.#world.scheduler.now;
    return Math.max(1, left) + random.between(0, AFTER_MS);
  }

  async #judged<T>(client: Client, keys: readonly string[], result: Promise<T>): Promise<T> {
    const { arrivals, plan, library } = this.#world;
    const { latency, slow, slowest } = plan.network;
    const slack = keys.length > 1 ? TURN_MS : SLACK_MS;
    const takes = MESSAGES * (slow > 0 ? slowest : latency) + slack;
    try {
      return await result;
    } catch (error) {
      const { code, key = '' } = error as { code?: string; key?: string };
      const isOver = library.isHoldfastError(error) && code === 'HOLDFAST_TIMEOUT';
      if (isOver && keys.includes(key))
        arrivals.timedOut(client.prefix + key, client.process.name, takes);
      throw error;
    }
  }
}
