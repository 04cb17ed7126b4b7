/**
 * The engine: weighted permits with a first-in-first-out queue. Each grant is a lease.
 *
 * This is the executable specification, without I/O and clock: the same commands at the same times
 * give the same replies, pushes and state. The differential test compares the Lua scripts with it;
 * the memory store and the simulator run it.
 *
 * Every command except inspect first removes expired leases, and leaves no capacity free that the
 * queue could use (I5), except for waiters beyond `SERVE_LIMIT`, which the next command serves.
 * Commands are idempotent by id (I3).
 */
import { afterCommand, afterRestore } from './check-hook.js';
import { resize, setCapacity } from './resize.js';
import { park, signal } from './condition.js';
import { isGateCommand } from './gate-messages.js';
import { Gates } from './gates.js';
import { force } from './force-release.js';
import { poll } from './poll.js';
import type { Holder } from './entries.js';
import { Resource } from './resource.js';
import {
  type Addressed,
  ahead,
  granted,
  next,
  type CommandContext,
  rejoin,
  serve,
} from './serve.js';
import type * as T from './commands.js';
import { renew } from './renew.js';
import { inspect } from './inspect.js';
import { turn } from './turn.js';
import { redeliverSignals, withdraw } from './signals.js';

export interface Outcome<C extends T.Command = T.Command> {
  readonly reply: T.ReplyTo<C>;
  readonly pushes: readonly Addressed[];
}

export class Engine {
  readonly gates: Gates = new Gates();
  readonly #resources = new Map<string, Resource>();
  readonly #receivers: (channel: string) => number;
  /** Every fence or generation of a new state is greater: the clock of a store may be wrong. */
  floor: number;

  /** @param receivers the subscribers of exactly this channel */
  constructor(receivers: (channel: string) => number, floor = 0) {
    this.#receivers = receivers;
    this.floor = floor;
  }

  get size(): number {
    return this.#resources.size + this.gates.size;
  }

  keys(): IterableIterator<string> {
    return this.#resources.keys();
  }

  resource(key: string): Resource | undefined {
    return this.#resources.get(key);
  }

  restore(key: string, resource: Resource): void {
    this.#resources.set(key, resource);
    afterRestore(resource);
  }

  forget(key: string): void {
    this.#resources.delete(key);
    this.gates.forget(key);
  }

  /** Removes what was idle for its retention. No reply depends on it. */
  sweep(now: T.Micros): void {
    this.gates.sweep(now);
    for (const [key, resource] of this.#resources) {
      if (resource.forgetAt <= now) this.#resources.delete(key);
    }
  }

  apply<C extends T.Command>(command: C, now: T.Micros): Outcome<C> {
    const context: CommandContext = {
      now,
      receivers: this.#receivers,
      pushes: [],
      more: false,
      floor: this.floor,
      pausedGrant: false,
    };
    const reply =
      command.op === 'renewMany'
        ? this.#renewMany(command, context)
        : this.#applyTo(command, context);
    return { reply: reply as T.ReplyTo<C>, pushes: context.pushes };
  }

  #renewMany({ keys, ids, ttl, retention }: T.RenewMany, context: CommandContext): T.Reply {
    const { now } = context;
    const left = keys.map((key, index) => {
      const id = ids[index] as string;
      const one = { op: 'renew', key, id, ttl, retention } as const;
      return (this.#applyTo(one, context) as T.RenewReply).left;
    });
    return { status: 'renewals', now, left };
  }

  #applyTo(command: T.KeyCommand, context: CommandContext): T.Reply {
    if (isGateCommand(command)) return this.gates.apply(command, context);
    const reply = this.#reply(command, context);
    const resource = this.#resources.get(command.key);
    if (resource !== undefined) afterCommand(command, resource, context.now);
    return reply;
  }

  #reply(command: T.LockCommand, context: CommandContext): T.Reply {
    const { key } = command;
    if ((this.#resources.get(key)?.forgetAt ?? Infinity) <= context.now)
      this.#resources.delete(key);
    let resource = this.#resources.get(key);
    if (resource === undefined && command.op === 'acquire') {
      resource = new Resource(this.floor);
      this.#resources.set(key, resource);
    }
    switch (command.op) {
      case 'acquire':
        return acquire(resource as Resource, command, context);
      case 'release':
        return release(resource, command, context);
      case 'turn':
        return turn(resource, command, context);
      case 'renew':
        return renew(resource, command, context);
      case 'poll':
        return poll(resource, command, context);
      case 'forceRelease':
        return force(resource, command, context);
      case 'inspect':
        return inspect(resource, command, context.now);
      case 'park':
        return park(resource, command, context);
      case 'signal':
        return signal(resource, command, context);
      case 'resize':
        return resize(resource, command, context);
      case 'capacity':
        return setCapacity(resource, command, context);
    }
  }
}

function acquire(resource: Resource, wanted: T.Acquire, context: CommandContext): T.AcquireReply {
  const { now } = context;
  resource.dropExpired(now);
  resource.dropStale(wanted.id, now);
  redeliverSignals(resource, context);
  const held = resource.leaseOf(wanted.id, now);
  // a waiter is served in turn, even if the capacity has changed since
  const agreed = (): boolean =>
    resource.waiters.has(wanted.id) ||
    (resource.kind === wanted.kind && resource.capacity === wanted.capacity);
  let settled: T.AcquireReply | undefined;
  if (held !== undefined) settled = granted(held, wanted.id, now);
  // a mutex that joined the lease of a reader would be beside other readers
  else if (agreed()) settled = rejoin(resource, wanted, now);
  // an expired lease, or a waiter that left the queue to join one, may have freed permits
  if (settled !== undefined || !(resource.idle || agreed())) serve(resource, context, '');
  // a ticket is of a lost place: the capacity may be out of date
  const mayAgree = wanted.ticket === 0 || resource.capacity === 0;
  if (resource.idle && mayAgree) resource.setCapacity(wanted.kind, wanted.capacity);
  let reply: T.AcquireReply;
  if (settled !== undefined) reply = settled;
  else if (agreed()) reply = enter(resource, wanted, context);
  else reply = mismatch(resource, now);
  resource.touch(now, wanted.retention);
  return reply;
}

/** Grants at once only with an empty queue, so a newcomer never takes a waiter's permits. */
function enter(resource: Resource, wanted: T.Acquire, context: CommandContext): T.AcquireReply {
  const { now } = context;
  const free = (): boolean => resource.queue.size === 0 && resource.fits(wanted.weight);
  const known = resource.waiters.get(wanted.id);
  if (known !== undefined) {
    resource.readdress(known, wanted);
    resource.noteTasks(known, wanted);
  } else if (free()) {
    return granted(resource.grant(wanted, now, wanted.ttl), wanted.id, now);
  } else if (!wanted.queue) {
    serve(resource, context, '');
    // `serve` may have granted to a waiter of the owner
    const own = rejoin(resource, wanted, now);
    if (own !== undefined) return own;
    if (free()) return granted(resource.grant(wanted, now, wanted.ttl), wanted.id, now);
    return { status: 'refused', now, next: next(resource, context) };
  } else if (resource.queue.size >= wanted.maxQueue && wanted.ticket === 0) {
    serve(resource, context, '');
    return { status: 'full', now, length: resource.queue.size };
  } else {
    resource.enqueue(wanted, now);
  }
  resource.processes.hear(wanted.id, now, wanted.patience);
  serve(resource, context, wanted.id);
  const holder = resource.leaseOf(wanted.id, now);
  if (holder !== undefined) return granted(holder, wanted.id, now);
  const ticket = resource.queue.score(wanted.id);
  if (ticket !== undefined) {
    const queued = { status: 'queued', now, ticket, next: next(resource, context) } as const;
    const tells = known === undefined && wanted.fair && wanted.handOffs > 0;
    return tells ? { ...queued, ahead: ahead(resource, wanted.id) } : queued;
  }
  const own = rejoin(resource, wanted, now);
  return own ?? mismatch(resource, now);
}

function mismatch({ capacity, kind }: Resource, now: T.Micros): T.Mismatch {
  return { status: 'mismatch', now, capacity, kind };
}

function release(
  resource: Resource | undefined,
  wanted: T.Release,
  context: CommandContext,
): T.ReleaseReply {
  const { now } = context;
  const { id, retention } = wanted;
  if (resource === undefined) return { status: 'absent', now, holds: 0 };
  resource.dropExpired(now);
  const holder = resource.leaseOf(id, now);
  let status: T.ReleaseReply['status'];
  if (holder === undefined) {
    status = withdraw(resource, id) ? 'dequeued' : 'absent';
  } else {
    status = resource.leave(holder, id, wanted.unheard !== true) ? 'freed' : 'kept';
    if (status === 'freed' && wanted.unpassed === true) resource.takeBackFences(holder);
  }
  serve(resource, context, '');
  resource.touch(now, retention);
  return { status, now, holds: status === 'kept' ? (holder as Holder).holds.size : 0 };
}
