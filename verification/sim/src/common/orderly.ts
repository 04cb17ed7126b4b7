/** Calls whose order and ends are judged, in plans where nothing disturbs the processes. */
import type { Lease } from '../../../../packages/holdfast/dist/index.js';
import type { Random } from '../base/random.js';
import type { Arrivals } from './arrivals.js';
import type { Belief, Client } from './leases.js';
import { claimTime, type Ways } from './line.js';

/** The key of mutexes whose order is judged. */
export const ORDERED = 'ordered';

interface OrderlyWorld {
  report(kind: string, text: string): void;
  readonly plan: Ways & { readonly ttl: number; readonly claimWindow: number };
  readonly arrivals: Arrivals;
  readonly leases: { granted(name: string, capacity: number, belief: Belief): () => void };
}

type Does = 'nothing' | 'extends' | 'stops' | 'parks';

export class Orderly {
  readonly #world: OrderlyWorld;
  #calls = 0;

  constructor(world: OrderlyWorld) {
    this.#world = world;
  }

  /** Some calls of one step on a mutex. */
  async step(client: Client, random: Random): Promise<void> {
    const isFair = random.chance(0.6);
    const count = random.pick([1, 1, 2, 4, 6]);
    const calls = Array.from({ length: count }, (_, at) => {
      return this.#call(client, random.fork(`${this.#calls} ${at}`), isFair);
    });
    await Promise.all(calls);
  }

  async #call(client: Client, random: Random, fair: boolean): Promise<void> {
    const { arrivals, leases, plan } = this.#world;
    const { holdfast, process, prefix } = client;
    this.#calls += 1;
    const name = `o${this.#calls}`;
    const key = prefix + ORDERED;
    const mutex = holdfast.mutex(ORDERED, { fair });
    const controller = new AbortController();
    const wait = random.chance(0.1) ? random.spread(1, 500) : Number.POSITIVE_INFINITY;
    if (random.chance(0.1)) process.later(random.spread(1, 500), () => controller.abort());
    const does = random.pick<Does>(['nothing', 'nothing', 'nothing', 'extends', 'stops', 'parks']);
    // an error about the end of a wait may take longer, and timers may fire too early
    const until = process.time + 0.99 * wait - 2;
    const { name: by, time: at } = process;
    arrivals.called({ name, by, key, terms: '', fair, at, until });
    let lease: Lease;
    try {
      lease = await mutex.acquire({ label: name, signal: controller.signal, wait });
    } catch {
      return arrivals.ended(key, name);
    }
    arrivals.granted(key, name, lease.id);
    lease.signal.addEventListener('abort', () => {
      this.#lost(client, lease, does === 'stops' || does === 'parks');
    });
    const granted = (): (() => void) => leases.granted(ORDERED, 1, { lease, weight: 1, client });
    let end = granted();
    try {
      if (does === 'extends') await lease.extend(2 * plan.ttl);
      if (does === 'stops') lease.stopRenewal();
      if (does === 'parks') {
        end();
        await mutex.condition('c').await(lease, { wait: random.spread(1, 50) });
        end = granted();
      }
      await process.sleep(random.spread(0.1, 80));
    } finally {
      end();
      await lease.release();
    }
  }

  /**
   * Nothing disturbs a process, so a lease that it renews does not end, if its claim window is long
   * enough.
   */
  #lost({ process, prefix }: Client, { id, signal }: Lease, isExpected: boolean): void {
    this.#world.arrivals.lostTurn(prefix + ORDERED, process.name);
    const { message } = signal.reason as Error;
    const { plan } = this.#world;
    const isClaimed = plan.claimWindow > claimTime(plan);
    if (!isExpected && isClaimed) this.#world.report('lapsed', `${id}: ${message}`);
  }
}
