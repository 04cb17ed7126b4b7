/**
 * What the store owes to one acquisition, asserted after each command:
 *
 * - `short`: a lease that is not renewed is granted with its whole length;
 * - `long`: no lease is longer than its own acquisition asked for, whichever lease was there
 *   before; so the next process waits for a dead holder no longer than that holder's own ttl;
 * - `deadlock`: a reentrant run inside another never asks for the lock that its outer run holds;
 * - `capacity`: a capacity that was agreed stays, and no acquisition from before brings the old one
 *   back;
 * - `dead`: the dead waiters of one process cost a few claim windows, not one each;
 * - `holds`: an owner does not have more holds than a lease may have;
 * - `chatty`: a waiter that is in the queue is not asked for again and again by itself.
 */
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import type {
  Acquire,
  Command,
  Reply,
} from '../../../../packages/holdfast/dist/engine/commands.js';
import type { TaskPlan } from '../plan/plan.js';
import type { Attempt } from '../work/attempt.js';
import type { World } from '../world/world.js';

/** The library asks for a little more than `ensure` and `extend` were told. */
const ENSURED = 1.02;
const ENSURED_MS = 12;
/** Part of its length that a lease may miss: what lies between the two clocks' readings. */
const WHOLE = 0.999;
/** In so many claim windows a queued acquisition is asked for at most so often by itself. */
const WINDOWS = 10;
const REPEATS_MAX = 6;

/** Grants to a process that is gone until the store knows that it is. */
const DEAD_MAX = 3;

/** Holds of an owner that one lease may have. */
const HOLDS_MAX = 1000;

interface Key {
  /** Acquisitions that were seen to be granted. */
  readonly granted: Set<string>;
  /** The capacity that was agreed last, and how many commands came before. */
  agreed: { readonly capacity: number; readonly at: number } | undefined;
  commands: number;
  /** Grants to processes that were gone by then, and the time of the last. */
  readonly dead: Map<string, { readonly count: number; readonly at: number }>;
}

interface Asked {
  /** How many commands of its key came before it was queued. */
  queuedAt: number | undefined;
  channel: string;
  /** When it was asked for again, though it was in the queue. */
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

  before(command: Command): void {
    if (command.op !== 'acquire') return;
    const resource = this.#resource(command.key);
    this.#waits = resource?.waiters.has(command.id) === true;
  }

  after(command: Command, reply: Reply): void {
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

  /** A store that forgets has nothing to keep. */
  amnesia(): void {
    for (const key of this.#keys.keys()) this.forget(key);
  }

  /** The store is about to forget a key. */
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

  /** A lease that an owner's other acquisition has joined is as long as that one needs it. */
  #length(id: string, ms: number, isShared: boolean): void {
    const attempt = this.#world.watch.attempt(id);
    if (attempt === undefined) return;
    const { name, task } = attempt;
    const { ttl, renew } = task;
    if (!renew && ms < ttl * WHOLE) {
      this.#world.report('short', task.key, `${name} is not renewed, and got ${ms} of ${ttl} ms`);
    }
    if (!isShared && ms > longest(task)) {
      this.#world.report('long', task.key, `${name} asked for ${ttl} ms, and got ${ms}`);
    }
  }

  /** Acquisitions of a process that is gone are passed over, but for a few of them. */
  #dead(id: string, key: Key): void {
    const attempt = this.#world.watch.attempt(id);
    if (attempt === undefined || attempt.client.process.alive) return;
    // there what it sent while it lived may arrive much later
    if (this.#world.plan.weather.loose) return;
    const { name, plan } = attempt.client;
    const { now } = this.#world.scheduler;
    const { count: before, at } = key.dead.get(name) ?? { count: 0, at: Number.NEGATIVE_INFINITY };
    // what was under way when it died comes all at once, its releases too
    if (now - at < plan.options.claimWindow / 2) return;
    const count = before + 1;
    key.dead.set(name, { count, at: now });
    if (count <= DEAD_MAX) return;
    this.#world.report('dead', attempt.task.key, `${count} were granted to ${name}, which is gone`);
  }

  #deadlock({ id, key }: Acquire, reply: Reply): void {
    const outer = this.#world.watch.outerOf(id);
    const lease = outer?.lease;
    if (lease === undefined || outer?.lost === true || reply.status !== 'queued') return;
    if (this.#resource(key)?.leaseOf(lease.id, this.#world.server.now()) === undefined) return;
    this.#world.report('deadlock', key, `${outer?.name} waits for the lock that it holds`);
  }

  #repeated(command: Acquire, reply: Reply, key: Key): void {
    const { id, channel } = command;
    const asked = this.#asked.get(id) ?? { queuedAt: undefined, channel, repeats: [] };
    this.#asked.set(id, asked);
    if (reply.status === 'queued') asked.queuedAt ??= key.commands;
    if (!this.#waits || asked.channel !== channel) asked.repeats = [];
    asked.channel = channel;
    if (!this.#waits) return;
    const { now } = this.#world.scheduler;
    const attempt = this.#world.watch.attempt(id);
    if (attempt === undefined || !this.#answersInTime(attempt)) return;
    const { claimWindow } = attempt.client.plan.options;
    const from = now - WINDOWS * claimWindow;
    // what was not answered is asked for again
    if (attempt.client.clearSince > from) asked.repeats = [];
    // what was held up on its way comes all at once
    if (now - (asked.repeats.at(-1) ?? Number.NEGATIVE_INFINITY) < claimWindow / 2) return;
    asked.repeats = [...asked.repeats.filter((at) => at > from), now];
    if (asked.repeats.length <= REPEATS_MAX) return;
    const text = `${attempt.name} is asked for again ${asked.repeats.length} times`;
    this.#world.report('chatty', command.key, text);
  }

  /** Requests are answered before their process gives them up, where nothing is in the way. */
  #answersInTime({ client }: Attempt): boolean {
    const { loose, latency, jitter, spikes, spike } = this.#world.plan.weather;
    const takes = 2 * (latency + jitter + (spikes > 0 ? spike : 0));
    return !loose && 2 * takes < client.plan.options.requestTimeout;
  }

  #capacity(command: Command, resource: Resource, key: Key): void {
    const { agreed } = key;
    if (agreed === undefined || resource.capacity === agreed.capacity) return;
    key.agreed = undefined;
    const id = command.op === 'acquire' ? command.id : '';
    // one that had no place, or that was not told of it, is free to agree to another
    const queuedAt = this.#asked.get(id)?.queuedAt ?? Number.POSITIVE_INFINITY;
    const isNew = queuedAt > agreed.at || (command.op === 'acquire' && command.ticket === 0);
    if (command.op === 'acquire' && isNew) return;
    const text = `${agreed.capacity} was agreed, and a ${command.op} makes it`;
    this.#world.report('capacity', command.key, `${text} ${resource.capacity}`);
  }
}

/** The longest lease that a task may have. */
function longest({ ttl, steps }: TaskPlan): number {
  const asked = steps.map((step) => {
    const isAsking = step.do === 'ensure' || step.do === 'extend';
    return isAsking ? step.ms * ENSURED + ENSURED_MS : 0;
  });
  return Math.max(ttl, ...asked) + 1;
}
