/**
 * What only a simulator can see: the store's truth beside what every process believes.
 *
 * After each command, and just after each lease has ended by the server's clock, it looks at the
 * key and asserts:
 *
 * - I1: the live leases in the store fit its capacity;
 * - I2: each grant's fence is above all before, whatever the store forgot;
 * - I5: what is free and waited for does not stay free while an undisturbed waiter lives;
 * - I6: what is over in its process holds and waits for nothing, soon after;
 * - I7: nobody believes in a lease that the store has ended.
 *
 * Not promised, and so excused: a belief in a lease that was forced away, or that the store forgot,
 * and a lease that is over where the store forgot its release.
 */
import { SERVE_LIMIT } from '../../../../packages/holdfast/dist/engine/limits.js';
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import type { Acquire, Command, Park } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Attempt } from '../work/attempt.js';
import type { World } from '../world/world.js';

/** A queue of so few is served as a whole by one command. */
const QUEUE_SMALL = 20;

/** What the label of a run inside another run of the same lock ends with. */
export const INNER = '/inner';

interface Key {
  readonly name: string;
  /** Acquisitions here that were granted and are not over. */
  readonly believers: Set<Attempt>;
  /** Acquisitions that were granted in the store. */
  readonly granted: Set<string>;
  lastFence: number;
  /** Weight that was in use at the last look. */
  used: number;
  /** Leases up to this fence need not be in the store. */
  excused: number;
  commands: number;
  /** Waiters before the command that is looked at. */
  queued: number;
  nextLook: number;
}

export class Watch {
  readonly #world: World;
  readonly #keys = new Map<string, Key>();
  /** The id of an acquisition → its attempt. */
  readonly #attempts = new Map<string, string>();
  #amnesiaAt = Number.NEGATIVE_INFINITY;
  /** How long something that is free may stay so, and something that is over may linger. */
  readonly #patience: { readonly free: number; readonly over: number };

  constructor(world: World, patience: { readonly free: number; readonly over: number }) {
    this.#world = world;
    this.#patience = patience;
  }

  before(command: Command): void {
    this.#key(command.key).queued = this.#resource(this.#key(command.key))?.queue.size ?? 0;
    if (command.op === 'forceRelease') this.#excuse(this.#key(command.key));
  }

  after(command: Command): void {
    if (command.op === 'acquire' || command.op === 'park') this.#identify(command);
    const key = this.#key(command.key);
    key.commands += 1;
    this.#served(key, command);
    this.#look(key);
  }

  /**
   * No command leaves free what the head of the queue could have (I5), and none gives a lease to
   * somebody who cannot be told: polling heals both, so that they would only be slow.
   */
  #served(key: Key, command: Command): void {
    const resource = this.#resource(key);
    if (resource === undefined || command.op === 'inspect') return;
    const head = resource.waiters.get(resource.queue.at(0) ?? '');
    // a command that passed over as many as it may leaves the rest to the next one
    const inPart =
      key.queued - resource.queue.size >= SERVE_LIMIT || resource.queue.size >= QUEUE_SMALL;
    if (head !== undefined && resource.fits(head.weight) && !inPart) {
      this.#world.report('unserved', key.name, `a ${command.op} leaves it free, and some wait`);
    }
    const holders = [...resource.holders.values()];
    const weight = holders.reduce((sum, holder) => sum + holder.weight, 0);
    if (weight !== resource.used) {
      this.#world.report('weights', key.name, `${resource.used} in use, ${weight} held`);
    }
    const own = 'id' in command ? command.id : '';
    const sender = command.op === 'park' ? command.as : own;
    const { server } = this.#world;
    for (const { id, channel, since } of holders) {
      const isNew = since === server.now() && !key.granted.has(id);
      const isTold = id === sender || channel === '' || 'to' in command;
      if (!isNew || isTold || server.blind || server.listens(channel)) continue;
      this.#world.report('deaf', key.name, `granted to ${id}, which nobody can tell`);
    }
  }

  /** The store is about to forget. */
  amnesia(): void {
    this.#amnesiaAt = this.#world.scheduler.now;
    for (const key of this.#keys.values()) this.#excuse(key);
  }

  /** The store is about to forget a key. */
  forget(name: string): void {
    this.#excuse(this.#key(name));
  }

  believes(attempt: Attempt): void {
    this.#key(attempt.task.key).believers.add(attempt);
  }

  over(attempt: Attempt): void {
    this.#key(attempt.task.key).believers.delete(attempt);
  }

  visit(key: string): void {
    this.#look(this.#key(key));
  }

  /** Looks at everything, when all that was asked for is over. */
  last(): void {
    for (const key of this.#keys.values()) {
      this.#look(key);
      const { waiters, parking } = this.#resource(key) ?? {};
      for (const id of waiters?.keys() ?? []) this.#lingers(key, id, 'waits');
      for (const { id } of parking?.all() ?? []) this.#lingers(key, id, 'is parked');
    }
  }

  #key(name: string): Key {
    let key = this.#keys.get(name);
    if (key === undefined) {
      const none = {
        lastFence: 0,
        used: 0,
        excused: 0,
        commands: 0,
        queued: 0,
        nextLook: Number.POSITIVE_INFINITY,
      };
      key = { name, believers: new Set(), granted: new Set(), ...none };
      this.#keys.set(name, key);
    }
    return key;
  }

  #resource(key: Key): Resource | undefined {
    return this.#world.server.engine.resource(key.name);
  }

  #excuse(key: Key): void {
    key.excused = Math.max(key.excused, key.lastFence, this.#resource(key)?.fence ?? 0);
  }

  #identify(command: Acquire | Park): void {
    const id = command.op === 'park' ? command.as : command.id;
    if (this.#attempts.has(id)) return;
    const { label } = JSON.parse(command.meta) as { label?: string };
    this.#attempts.set(id, label ?? '');
  }

  #look(key: Key): void {
    const resource = this.#resource(key);
    const now = this.#world.server.now();
    if (resource !== undefined) this.#lookAt(key, resource, now);
    for (const attempt of key.believers) {
      if (!this.#lives(attempt, resource, now)) this.#belief(key, attempt);
    }
  }

  #lookAt(key: Key, resource: Resource, now: number): void {
    let used = 0;
    let ends = Number.POSITIVE_INFINITY;
    for (const holder of resource.holders.values()) {
      if (holder.expires <= now) continue;
      used += holder.weight;
      ends = Math.min(ends, holder.expires);
      if (!key.granted.has(holder.id)) this.#fence(key, holder.id, holder.fence);
      // a replica that missed the release has the lease still, until it ends
      if (holder.fence <= key.excused) continue;
      if (holder.holds.size === 0) this.#lingers(key, holder.id, 'holds');
      for (const id of holder.holds.keys()) this.#lingers(key, id, 'holds');
    }
    // what is held when the capacity shrinks stays held, and nothing comes to it
    const { used: before } = key;
    key.used = used;
    if (used > resource.capacity && used > before) {
      this.#world.report('exclusion', key.name, `${used} of ${resource.capacity} are held`);
    }
    if (ends < Number.POSITIVE_INFINITY) this.#lookAgain(key, ends);
    const head = resource.waiters.get(resource.queue.at(0) ?? '');
    if (head !== undefined && used + head.weight <= resource.capacity) this.#free(key);
  }

  #fence(key: Key, id: string, fence: number): void {
    key.granted.add(id);
    if (fence <= key.lastFence) {
      this.#world.report('fence', key.name, `${id} got ${fence} after ${key.lastFence}`);
    }
    key.lastFence = Math.max(key.lastFence, fence);
  }

  #lookAgain(key: Key, ends: number): void {
    const { scheduler, server } = this.#world;
    const at = server.machine.timeOfWall((ends + 1) / 1000) + 1e-3;
    if (at >= key.nextLook && key.nextLook > scheduler.now) return;
    key.nextLook = at;
    scheduler.at(at, () => {
      if (key.nextLook === at) key.nextLook = Number.POSITIVE_INFINITY;
      if (server.up) this.#look(key);
    });
  }

  /** Free, and waited for: somebody should come soon. */
  #free(key: Key): void {
    const { commands } = key;
    const { scheduler } = this.#world;
    scheduler.after(this.#patience.free, () => {
      const resource = this.#resource(key);
      if (key.commands !== commands || resource === undefined) return;
      for (const id of resource.waiters.keys()) {
        const attempt = this.attempt(id);
        if (attempt === undefined || attempt.over || !this.#clear(attempt, scheduler.now)) continue;
        this.#world.report('idle', key.name, `free, and ${attempt.name} waits`);
      }
    });
  }

  /** Something of an acquisition is in the store. */
  #lingers(key: Key, id: string, what: string): void {
    const attempt = this.attempt(id);
    const now = this.#world.scheduler.now;
    if (attempt === undefined || attempt.abandoned || !attempt.client.process.alive) return;
    // a store that has lost its memory may know it from before its end
    if (attempt.overAt <= this.#amnesiaAt) return;
    const since = Math.max(attempt.overAt, attempt.client.clearSince);
    if (now - since <= this.#patience.over) return;
    this.#world.report('ghost', key.name, `${attempt.name} (${id}) is over and ${what}`);
  }

  /** Whose acquisition this is. */
  attempt(id: string): Attempt | undefined {
    return this.#world.attempts.get(this.#attempts.get(id) ?? '');
  }

  /** Whose reentrant run the acquisition is inside of. */
  outerOf(id: string): Attempt | undefined {
    const label = this.#attempts.get(id) ?? '';
    if (!label.endsWith(INNER)) return undefined;
    return this.#world.attempts.get(label.slice(0, -INNER.length));
  }

  /** Nothing was in the way of its process for as long as something may be free. */
  #clear({ client }: Attempt, now: number): boolean {
    return client.process.alive && now - client.clearSince > this.#patience.free;
  }

  /** Its lease is in the store, or was passed on to it from one that is. */
  #lives({ lease, weight }: Attempt, resource: Resource | undefined, now: number): boolean {
    if (lease === undefined || resource === undefined) return lease === undefined;
    const own = resource.leaseOf(lease.id, now);
    if (own !== undefined) return weight === undefined || own.weight >= weight();
    if (lease.id.endsWith('.') && isLive(resource, lease.fence, now)) return true;
    const process = lease.id.slice(0, lease.id.indexOf('.') + 1);
    for (const { id, fence, handOffs, expires } of resource.holders.values()) {
      const before = fence < lease.fence && lease.fence <= fence + handOffs;
      if (before && expires > now && id.startsWith(process)) return true;
    }
    return false;
  }

  #belief(key: Key, attempt: Attempt): void {
    const { lease, client } = attempt;
    if (lease === undefined || lease.fence <= key.excused) return;
    if (!client.process.alive || client.process.stopped) return;
    if (!(typeof lease.held === 'function' ? lease.held() : lease.held)) return;
    this.#world.report('belief', key.name, `${attempt.name} believes in ${lease.fence}`);
  }
}

/** Whether a lease with this fence runs on. */
function isLive(resource: Resource, fence: number, now: number): boolean {
  for (const holder of resource.holders.values()) {
    if (holder.fence === fence && holder.expires > now) return true;
  }
  return false;
}
