/** What processes do on a register beside the tasks of every world. */
import type { Lease } from '../../../../packages/holdfast/dist/index.js';
import type { Random } from '../base/random.js';
import type { Client } from '../common/leases.js';
import { Tasks } from '../common/tasks.js';
import { Ends } from './ends.js';
import type { RegisterClient, RegisterWorld } from './world.js';

export class RegisterTasks extends Tasks<RegisterWorld> {
  readonly #ends: Ends;

  constructor(world: RegisterWorld) {
    super(world, world.library.isHoldfastError);
    this.#ends = new Ends(world);
  }

  protected override async once(client: Client, random: Random): Promise<void> {
    const { orderly, messages } = this.world.plan;
    if (orderly && !messages && random.chance(0.8)) return this.#ends.once(client, random);
    const kind = random.next();
    if (kind < 0.1) return this.#abort(client, random);
    if (kind < 0.17) return this.#force(client, random);
    if (kind < 0.24) return this.#handOver(client, random);
    if (kind < 0.34) return this.#meet(client, random);
    if (kind < 0.44 && this.world.plan.guards) return this.#guard(client as RegisterClient, random);
    return super.once(client, random);
  }

  /** Leases without renewal are often held until they end. */
  protected override rest(client: Client, random: Random, renew: boolean): Promise<void> {
    const { ttl } = this.world.plan;
    if (renew || random.chance(0.5)) return super.rest(client, random, renew);
    return client.process.sleep(random.between(0.9, 1.2) * ttl);
  }

  /** An acquisition that its signal aborts, or a lease with a limit. */
  async #abort(client: Client, random: Random): Promise<void> {
    const controller = new AbortController();
    client.process.later(random.spread(1, 1000), () => controller.abort(new Error('not now')));
    const isFair = random.chance(0.3);
    const name = isFair ? 'fair' : 'mutex';
    const limits = random.chance(0.3) ? { maxHold: random.spread(20, 2000) } : {};
    const options = { ...limits, signal: controller.signal };
    const lease = await client.holdfast.mutex(name, { fair: isFair }).acquire(options);
    await this.#hold(client, random, name, lease);
  }

  /** Leases that are released by force. Those that the call may end are not judged. */
  async #force(client: Client, random: Random): Promise<void> {
    const { leases, lastFence } = this.world;
    if (random.chance(0.7)) {
      const lease = await client.holdfast.mutex('forced').tryAcquire({ wait: 2000 });
      if (lease !== null) await this.#hold(client, random, 'forced', lease);
      return;
    }
    leases.excuse(lastFence, `${client.prefix}forced`);
    await client.holdfast.forceRelease('forced', { wait: random.pick([0, 100]) });
  }

  /** Another process adopts the lease. */
  async #handOver(client: Client, random: Random): Promise<void> {
    const { clients, library } = this.world;
    const lease = await client.holdfast.mutex('mutex').tryAcquire({ wait: 1000 });
    if (lease === null) return;
    const end = this.#granted(client, 'mutex', lease);
    await client.process.sleep(random.spread(0.1, 20));
    end();
    const others = clients.filter((one) => one !== client);
    if (!lease.held || others.length === 0) return void (await lease.release());
    const text = library.handOver(client.holdfast, lease);
    const heir = random.pick(others);
    heir.process.deliver('task', () => {
      this.#adopt(heir, random, text).catch((error: unknown) => {
        if (!library.isHoldfastError(error)) throw error;
      });
    });
  }

  async #adopt(heir: Client, random: Random, text: string): Promise<void> {
    const { library, leases } = this.world;
    const lease = await library.adopt(heir.holdfast, text);
    const end = leases.granted('mutex', 1, { lease, weight: 1, client: heir, isAdopted: true });
    await heir.process.sleep(random.spread(1, 100));
    end();
    await lease.release();
  }

  /** Waits at a condition, or wakes those who wait. */
  async #meet(client: Client, random: Random): Promise<void> {
    const mutex = client.holdfast.mutex('stock');
    const condition = mutex.condition('stocked');
    const lease = await mutex.tryAcquire({ wait: 2000 });
    if (lease === null) return;
    let end = this.#granted(client, 'stock', lease);
    await client.process.sleep(random.spread(0.1, 10));
    try {
      const kind = random.next();
      if (kind < 0.25) await condition.signal(lease);
      else if (kind < 0.5) await condition.signalAll(lease);
      else {
        end();
        await condition.await(lease, { wait: random.spread(10, 1500) });
        end = this.#granted(client, 'stock', lease);
        await this.rest(client, random, true);
      }
    } finally {
      // a wait that was refused has not given the lease up
      end();
      await lease.release();
    }
  }

  /** A transaction guards the lease: no other process may get the lock before it ends. */
  async #guard(client: RegisterClient, random: Random): Promise<void> {
    const { library, server, leases } = this.world;
    const renew = random.chance(0.5);
    const lease = await client.holdfast.mutex('guarded').tryAcquire({ wait: 2000, renew });
    if (lease === null) return;
    const name = this.world.nameOf('guarded');
    const ms = random.spread(10, 1500);
    const { id, fence } = lease;
    const guarded = (): boolean => server.guarded(name) === fence;
    const end = leases.granted('guarded', 1, { lease, weight: 1, client, guarded });
    await client.register
      .run(() => {
        const { state, time } = server.read(name);
        const standing = library.standingOf(state, { key: 'guarded', id, fence }, time);
        if (standing === 'alone') server.guard(name, fence, ms);
      })
      .catch(() => undefined);
    while (guarded()) await client.process.sleep(ms / 4);
    await this.rest(client, random, renew);
    end();
    await lease.release();
  }

  async #hold(client: Client, random: Random, name: string, lease: Lease): Promise<void> {
    const end = this.#granted(client, name, lease);
    await this.rest(client, random, true);
    end();
    await lease.release();
  }

  #granted(client: Client, name: string, lease: Lease): () => void {
    return this.world.leases.granted(name, 1, { lease, weight: 1, client });
  }
}
