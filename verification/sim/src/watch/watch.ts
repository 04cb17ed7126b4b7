/**
 * Compares the store's state with the leases that each process believes it holds. Only a simulator
 * can see both. After each command, and just after each lease ends by the server's clock, it reads
 * the key and asserts:
 *
 * - I1: the live leases in the store fit its capacity;
 * - I2: each grant's fence is above all earlier ones, also after the store lost its memory;
 * - I5: a free lock with waiters does not stay free while an undisturbed waiter lives;
 * - I6: soon after an acquisition ends in its process, it has no lease and no place in the queue,
 *   and none when its process has closed (`orphan`);
 * - I7: no process believes in a lease that the store has ended;
 * - `batch`: after eight hand-offs, a root goes on only within 5 ms of its grant: the bound on
 *   overtaking in the README.
 *
 * Not guaranteed, and so not reported: belief in a lease that was force-released or that the store
 * forgot, and a released lease whose release the store forgot.
 */
import { SERVE_LIMIT } from '../../../../packages/holdfast/dist/engine/limits.js';
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import type { KeyCommand } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Attempt } from '../work/attempt.js';
import { isFamily } from '../work/family/perform.js';
import { meets } from '../work/meeting.js';
import type { Client } from '../world/client.js';
import type { World } from '../world/world.js';
import { Identities, requested, rootOf } from './identities.js';
import { answersInTime } from './promises.js';

/** The hand-offs of a root that may be made at any time, and the ms for further ones. */
const UNTIMED = 8;
const BATCH_MS = 5;

/** One command serves a queue of at most this length completely. */
const QUEUE_SMALL = 20;

interface Key {
  readonly name: string;
  /** Acquisitions that their process knows as granted and that have not ended. */
  readonly believers: Set<Attempt>;
  /** Acquisitions that the store has granted. */
  readonly granted: Set<string>;
  /** Roots of the leases that a process has had. */
  readonly held: Set<string>;
  lastFence: number;
  /** The weight in use at the last check. */
  used: number;
  /** Leases up to this fence may be missing in the store. */
  excused: number;
  commands: number;
  /** The waiters before the command under check. */
  queued: number;
  nextLook: number;
}

export class Watch {
  readonly #world: World;
  readonly identities: Identities;
  readonly #keys = new Map<string, Key>();
  /** When each root was granted, by the clock of its process. */
  readonly #since = new Map<string, number>();
  /** Roots that a process has handed over to another one. */
  readonly #handedOver = new Set<string>();
  #amnesiaAt = Number.NEGATIVE_INFINITY;
  /** The time limits for a free lock with waiters, and for leases of ended acquisitions. */
  readonly #patience: { readonly free: number; readonly over: number };

  constructor(world: World, patience: { readonly free: number; readonly over: number }) {
    this.#world = world;
    this.identities = new Identities(world);
    this.#patience = patience;
  }

  before(command: KeyCommand): void {
    this.#key(command.key).queued = this.#resource(this.#key(command.key))?.queue.size ?? 0;
    if (command.op === 'forceRelease') this.#excuse(this.#key(command.key));
  }

  after(command: KeyCommand): void {
    this.identities.see(command);
    const key = this.#key(command.key);
    key.commands += 1;
    this.#served(key, command);
    this.#look(key);
  }

  /**
   * After a command, the free capacity is too small for the head of the queue (I5), and no lease
   * was granted to an unreachable waiter. Polling repairs both, so they would only cost time.
   */
  #served(key: Key, command: KeyCommand): void {
    const resource = this.#resource(key);
    if (resource === undefined || command.op === 'inspect') return;
    const head = resource.waiters.get(resource.queue.at(0) ?? '');
    // a command that skipped its limit of waiters leaves the rest to the next command
    const inPart =
      key.queued - resource.queue.size >= SERVE_LIMIT || resource.queue.size >= QUEUE_SMALL;
    if (head !== undefined && resource.fits(head.weight) && !inPart) {
      this.#world.report('unserved', key.name, `free after ${command.op}, with waiters`);
    }
    const holders = [...resource.holders.values()];
    const weight = holders.reduce((sum, holder) => sum + holder.weight, 0);
    if (weight !== resource.used) {
      this.#world.report('weights', key.name, `${resource.used} in use, ${weight} held`);
    }
    const own = 'id' in command ? command.id : '';
    const sender = requested(command) ?? own;
    const { server } = this.#world;
    for (const { id, channel, since } of holders) {
      const isNew = since === server.now() && !key.granted.has(id);
      const isTold = id === sender || channel === '';
      if (!isNew || isTold || server.blind || server.listens(channel)) continue;
      this.#world.report('deaf', key.name, `granted to ${id}, which has no listener`);
    }
  }

  /** Called before the store loses its memory. */
  amnesia(): void {
    this.#amnesiaAt = this.#world.scheduler.now;
    for (const key of this.#keys.values()) this.#excuse(key);
  }

  /** Called before the store forgets a key. */
  forget(name: string): void {
    this.#excuse(this.#key(name));
  }

  /** True if a lease may be missing in the store: it was ended by force, or forgotten. */
  excuses(key: string, fence: number): boolean {
    return fence <= this.#key(key).excused;
  }

  believes(attempt: Attempt): void {
    const { believers, name, held } = this.#key(attempt.task.key);
    believers.add(attempt);
    held.add(rootOf(attempt.lease?.id ?? ''));
    this.#batch(attempt);
    for (const other of believers) {
      const { client, lease } = other;
      if (other === attempt || client !== attempt.client || lease === undefined) continue;
      // the store does not see hand-offs
      if (rootOf(lease.id) !== rootOf(attempt.lease?.id ?? '') || lease.held !== true) continue;
      const text = `${attempt.name} and ${other.name} hold the root ${rootOf(lease.id)}`;
      this.#world.report('exclusion', name, text);
    }
  }

  /** A hand-off that is later than the README promises, if its process was not busy meanwhile. */
  #batch({ client, lease, task, name }: Attempt): void {
    const [root = '', index = '0'] = lease?.id.split('/') ?? [];
    const now = client.process.now();
    if (index === '0') this.#since.set(root, now);
    const since = this.#since.get(root);
    if (Number(index) <= UNTIMED || since === undefined || task.fair) return;
    const isClear = this.#world.scheduler.now - client.clearSince > now - since + 1;
    if (!isClear || now - since <= BATCH_MS) return;
    const text = `${name} got the root ${root} by hand-off ${index}, ${now - since} ms after`;
    this.#world.report('batch', task.key, text);
  }

  /** Its first process neither ends it nor is responsible for its end any more. */
  handedOver(id: string): void {
    this.#handedOver.add(rootOf(id));
  }

  /** True if a process believes that it holds a key. */
  isHeldBy(client: Client, key: string): boolean {
    return [...this.#key(key).believers].some((one) => one.client === client);
  }

  over(attempt: Attempt): void {
    this.#key(attempt.task.key).believers.delete(attempt);
  }

  visit(key: string): void {
    this.#look(this.#key(key));
  }

  /** Checks all keys, after all acquisitions have ended. */
  last(): void {
    for (const key of this.#keys.values()) {
      this.#look(key);
      const { waiters, parking } = this.#resource(key) ?? {};
      for (const { id, tasks } of waiters?.values() ?? [])
        this.#lingers(key, id, 'waits', tasks > 0);
      for (const { id } of parking?.all() ?? []) this.#lingers(key, id, 'is parked');
    }
  }

  /**
   * A process has closed, and nothing disturbed it meanwhile: the store has no lease and no place
   * of its acquisitions.
   */
  closed(client: Client): void {
    if (!answersInTime(this.#world, client)) return;
    const now = this.#world.server.now();
    for (const { name } of this.#keys.values()) {
      const { holders, waiters } = this.#world.server.engine.resource(name) ?? {};
      for (const { id, owner, holds, expires } of holders?.values() ?? []) {
        // the lease of an owner keeps the id of its first hold, also after that hold's release
        const held =
          owner === ''
            ? [{ id, expires }]
            : Array.from(holds, ([hold, { expires }]) => ({ id: hold, expires }));
        for (const hold of held) {
          if (hold.expires > now) this.#orphan(client, name, hold.id, 'holds');
        }
      }
      for (const { id } of waiters?.values() ?? []) this.#orphan(client, name, id, 'waits');
    }
  }

  #orphan(client: Client, key: string, id: string, what: string): void {
    const attempt = this.identities.attempt(id);
    if (attempt?.client !== client || isFamily(attempt.task) || meets(attempt.task)) return;
    // a lease whose time is over ends in its process a little before it ends in the store
    if (attempt.abandoned || this.identities.isLost(id)) return;
    this.#world.report('orphan', key, `${client.name} has closed, and ${attempt.name} ${what}`);
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
      key = { name, believers: new Set(), granted: new Set(), held: new Set(), ...none };
      this.#keys.set(name, key);
    }
    return key;
  }

  #resource(key: Key): Resource | undefined {
    return this.#world.server.engine.resource(key.name);
  }

  #excuse(key: Key): void {
    key.excused = Math.max(key.excused, key.lastFence, this.#resource(key)?.fence ?? 0);
    // an older state may have leases from before a smaller capacity
    key.used = Number.POSITIVE_INFINITY;
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
      // a replica that missed the release still has the lease until it ends
      if (holder.fence <= key.excused) continue;
      if (holder.holds.size === 0) this.#lingers(key, holder.id, 'holds', holder.tasks > 0);
      for (const id of holder.holds.keys()) this.#lingers(key, id, 'holds');
    }
    // leases outlive a smaller capacity, but no new lease is added to them
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

  /** The lock is free and has waiters: one of them must get it soon. */
  #free(key: Key): void {
    const { commands } = key;
    const { scheduler } = this.#world;
    scheduler.after(this.#patience.free, () => {
      const resource = this.#resource(key);
      if (key.commands !== commands || resource === undefined) return;
      for (const id of resource.waiters.keys()) {
        const attempt = this.identities.waiting(id);
        if (attempt === undefined || attempt.over || !this.#clear(attempt, scheduler.now)) continue;
        // a store that lost its memory has it as a waiter from before its grant
        if (this.identities.isLost(id)) continue;
        this.#world.report('idle', key.name, `free while ${attempt.name} waits`);
      }
    });
  }

  /** The store has a lease or a waiter of an acquisition. */
  #lingers(key: Key, id: string, what: string, root = false): void {
    const attempt = root ? this.identities.waiting(id) : this.identities.attempt(id);
    const now = this.#world.scheduler.now;
    if (attempt === undefined || attempt.abandoned || !attempt.client.process.alive) return;
    if (this.#handedOver.has(id)) return;
    // a store that lost its memory may have it from before its end
    if (attempt.overAt <= this.#amnesiaAt) return;
    // a renewal without a reply may have extended a lease that has ended in its process
    const { clearSince, heardSince } = attempt.client;
    const since = Math.max(attempt.overAt, key.held.has(id) ? clearSince : heardSince);
    if (now - since <= this.#patience.over) return;
    this.#world.report('ghost', key.name, `${attempt.name} (${id}) has ended, but ${what}`);
  }

  /** Its process was not disturbed for the time that a lock may stay free. */
  #clear({ client }: Attempt, now: number): boolean {
    return client.process.alive && now - client.clearSince > this.#patience.free;
  }

  /** Its lease, or the root of its lease, is in the store. */
  #lives({ lease, weight }: Attempt, resource: Resource | undefined, now: number): boolean {
    if (lease === undefined || resource === undefined) return lease === undefined;
    const own = resource.leaseOf(rootOf(lease.id), now);
    if (own === undefined) return lease.id.endsWith('.') && isLive(resource, lease.fence, now);
    const { fence, handOffs } = own;
    const reserved = fence <= lease.fence && lease.fence <= fence + handOffs;
    if (lease.id.includes('/') && !reserved) return false;
    return weight === undefined || own.weight >= weight();
  }

  #belief(key: Key, attempt: Attempt): void {
    const { lease, client } = attempt;
    if (lease === undefined || lease.fence <= key.excused) return;
    if (!client.process.alive || client.process.stopped) return;
    if (!(typeof lease.held === 'function' ? lease.held() : lease.held)) return;
    this.#world.report(
      'belief',
      key.name,
      `${attempt.name} believes in ended lease ${lease.fence}`,
    );
  }
}

/** Whether a lease with this fence, or a root that reserves it, is still live. */
function isLive(resource: Resource, fence: number, now: number): boolean {
  for (const holder of resource.holders.values()) {
    const isOwn = holder.fence <= fence && fence <= holder.fence + holder.handOffs;
    if (isOwn && holder.expires > now) return true;
  }
  return false;
}
