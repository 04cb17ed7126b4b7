/**
 * Guarantees of the store for one acquisition, asserted after each command:
 *
 * - `short`: a lease that is not renewed is granted with its whole length;
 * - `long`: no lease is longer than its own acquisition requested, independent of the lease
 *   before it; so the next process waits for a dead holder at most for that holder's own ttl;
 * - `deadlock`: a nested reentrant run never requests the lock that its outer run holds;
 * - `capacity`: an agreed capacity stays, and no earlier acquisition restores the old one;
 * - `dead`: the dead waiters of one process cost a few claim windows, not one each;
 * - `holds`: an owner does not have more holds than a lease may have;
 * - `chatty`: a queued waiter is not requested repeatedly in commands of its own.
 */
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import type {
  Acquire,
  KeyCommand,
  Reply,
} from '../../../../packages/holdfast/dist/engine/commands.js';
import type { TaskPlan } from '../plan/plan.js';
import type { Client } from '../world/client.js';
import type { World } from '../world/world.js';

/** The library requests slightly more than the argument of `ensure` and `extend`. */
const ENSURED = 1.02;
const ENSURED_MS = 12;
/** Part of its length that a lease may lack: the time between the readings of the two clocks. */
const WHOLE = 0.999;
/** The limit of requests for one queued acquisition, and the claim windows that it covers. */
const WINDOWS = 10;
const REPEATS_MAX = 6;

/** Grants to a dead process before the store detects that it is dead. */
const DEAD_MAX = 3;

/** The largest number of holds of an owner in one lease. */
const HOLDS_MAX = 1000;

interface Key {
  /** Acquisitions whose grant was seen. */
  readonly granted: Set<string>;
  /** The capacity that was agreed last, and the number of commands before it. */
  agreed: { readonly capacity: number; readonly at: number } | undefined;
  commands: number;
  /** Grants to dead processes, and the time of the last. */
  readonly dead: Map<string, { readonly count: number; readonly at: number }>;
}

interface Asked {
  /** The number of commands of its key before it was queued. */
  queuedAt: number | undefined;
  channel: string;
  tasks: number;
  /** Times at which it was requested again while it was in the queue. */
  repeats: number[];
}

export class Promises {
  readonly #world: World;
  readonly #keys = new Map<string, Key>();
  readonly #asked = new Map<string, Asked>();
  #waits = false;

  constructor(world: World) {
    this.#world = world;
  }

  before(command: KeyCommand): void {
    if (command.op !== 'acquire') return;
    const resource = this.#resource(command.key);
    this.#waits = resource?.waiters.has(command.id) === true;
  }

  after(command: KeyCommand, reply: Reply): void {
    const resource = this.#resource(command.key);
    if (resource === undefined || command.op === 'inspect') return;
    const key = this.#key(command.key);
    key.commands += 1;
    if (command.op === 'acquire') {
      this.#deadlock(command, reply);
      this.#repeated(command, reply, key);
    }
    for (const { id, since, expires, holds } of resource.holders.values()) {
      if (holds.size > HOLDS_MAX) {
        this.#world.report('holds', command.key, `one lease has ${holds.size} holds`);
      }
      if (key.granted.has(id)) continue;
      key.granted.add(id);
      const isNew = since === this.#world.server.now();
      if (!isNew) continue;
      this.#length(id, (expires - since) / 1000, holds.size > 1);
      this.#dead(id, key);
    }
    if (command.op === 'capacity' && reply.status === 'changed') {
      key.agreed = { capacity: command.capacity, at: key.commands };
    }
    this.#capacity(command, resource, key);
  }

  /** A store that lost its memory owes nothing for earlier acquisitions. */
  amnesia(): void {
    for (const key of this.#keys.keys()) this.forget(key);
  }

  /** Called before the store forgets a key. */
  forget(key: string): void {
    const known = this.#key(key);
    known.agreed = undefined;
    known.dead.clear();
  }

  #resource(key: string): Resource | undefined {
    return this.#world.server.engine.resource(key);
  }

  #key(name: string): Key {
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = { granted: new Set(), agreed: undefined, commands: 0, dead: new Map() };
      this.#keys.set(name, key);
    }
    return key;
  }

  /** A lease that another acquisition of the owner has joined is as long as that one needs. */
  #length(id: string, ms: number, isShared: boolean): void {
    const attempt = this.#world.watch.identities.attempt(id);
    if (attempt === undefined) return;
    const { name, task } = attempt;
    const { ttl, renew } = task;
    if (!renew && ms < ttl * WHOLE) {
      this.#world.report('short', task.key, `${name} without renewal got ${ms} of ${ttl} ms`);
    }
    if (!isShared && ms > longest(task)) {
      this.#world.report('long', task.key, `${name} asked for ${ttl} ms, and got ${ms}`);
    }
  }

  /** The store skips the acquisitions of a dead process, except for a few of them. */
  #dead(id: string, key: Key): void {
    const attempt = this.#world.watch.identities.attempt(id);
    if (attempt === undefined || attempt.client.process.alive) return;
    // there what it sent while it lived may arrive much later
    if (this.#world.plan.network.loose) return;
    const { name, plan } = attempt.client;
    const { now } = this.#world.scheduler;
    const { count: before, at } = key.dead.get(name) ?? { count: 0, at: Number.NEGATIVE_INFINITY };
    // messages in flight at its death arrive together, its releases too
    if (now - at < plan.options.claimWindow / 2) return;
    const count = before + 1;
    key.dead.set(name, { count, at: now });
    if (count <= DEAD_MAX) return;
    this.#world.report('dead', attempt.task.key, `${count} grants to ${name}, which is dead`);
  }

  #deadlock({ id, key }: Acquire, reply: Reply): void {
    const outer = this.#world.watch.identities.outerOf(id);
    const lease = outer?.lease;
    if (lease === undefined || outer?.lost === true || reply.status !== 'queued') return;
    if (this.#resource(key)?.leaseOf(lease.id, this.#world.server.now()) === undefined) return;
    this.#world.report('deadlock', key, `${outer?.name} waits for the lock that it holds`);
  }

  #repeated(command: Acquire, reply: Reply, key: Key): void {
    const { id, channel, tasks = 0 } = command;
    const asked = this.#asked.get(id) ?? { queuedAt: undefined, channel, tasks, repeats: [] };
    this.#asked.set(id, asked);
    if (reply.status === 'queued') asked.queuedAt ??= key.commands;
    if (!this.#waits || asked.channel !== channel) asked.repeats = [];
    // a request tells a new channel, and a new number of tasks
    const tellsTasks = asked.tasks !== tasks;
    Object.assign(asked, { channel, tasks });
    if (!this.#waits || tellsTasks) return;
    const { now } = this.#world.scheduler;
    const attempt = this.#world.watch.identities.attempt(id);
    if (attempt === undefined || !answersInTime(this.#world, attempt.client)) return;
    const { claimWindow } = attempt.client.plan.options;
    const from = now - WINDOWS * claimWindow;
    // an unanswered request is sent again
    if (attempt.client.clearSince > from) asked.repeats = [];
    // delayed messages arrive together
    if (now - (asked.repeats.at(-1) ?? Number.NEGATIVE_INFINITY) < claimWindow / 2) return;
    asked.repeats = [...asked.repeats.filter((at) => at > from), now];
    if (asked.repeats.length <= REPEATS_MAX) return;
    const text = `${attempt.name} is requested again ${asked.repeats.length} times`;
    this.#world.report('chatty', command.key, text);
  }

  #capacity(command: KeyCommand, resource: Resource, key: Key): void {
    const { agreed } = key;
    if (agreed === undefined || resource.capacity === agreed.capacity) return;
    key.agreed = undefined;
    const id = command.op === 'acquire' ? command.id : '';
    // one without a place in the queue, or that did not learn of it, may accept another capacity
    const queuedAt = this.#asked.get(id)?.queuedAt ?? Number.POSITIVE_INFINITY;
    const isNew = queuedAt > agreed.at || (command.op === 'acquire' && command.ticket === 0);
    if (command.op === 'acquire' && isNew) return;
    const text = `${command.op} changes the agreed capacity ${agreed.capacity} to`;
    this.#world.report('capacity', command.key, `${text} ${resource.capacity}`);
  }
}

/** Without a disturbance, a request is answered before its process abandons it. */
export function answersInTime({ plan }: World, client: Client): boolean {
  const { loose, latency, jitter, spikes, spike } = plan.network;
  const takes = 2 * (latency + jitter + (spikes > 0 ? spike : 0));
  return !loose && 2 * takes < client.plan.options.requestTimeout;
}

/** The longest possible lease of a task. */
function longest({ ttl, steps }: TaskPlan): number {
  const asked = steps.map((step) => {
    const isAsking = step.do === 'ensure' || step.do === 'extend';
    return isAsking ? step.ms * ENSURED + ENSURED_MS : 0;
  });
  return Math.max(ttl, ...asked) + 1;
}
