/**
 * The engine: weighted permits with a first-in-first-out queue, whose permits are leases.
 *
 * This is the executable specification. It does no I/O and has no clock: every command comes with
 * the time, and the same commands at the same times give the same replies, pushes and state. The
 * Lua of the Redis store is held equal to it by the differential test; the memory store and the
 * simulator run it as it stands.
 *
 * Here is what takes and gives back; `condition.ts` has what waits for signals, `change.ts` what
 * changes what is held, `force.ts` what ends it by force, `view.ts` what shows it. Whatever a
 * command is for, it first removes what has expired, and it leaves no capacity free that the queue
 * could use (I5), except what `SERVE_LIMIT` leaves for the next command. Commands are idempotent by
 * id (I3).
 */
import { assertSound } from './assertions.js';
import { resize, setCapacity } from './resize.js';
import { park, signal } from './condition.js';
import { isGateCommand } from './gate-messages.js';
import { Gates } from './gates.js';
import { force } from './force-release.js';
import { poll } from './poll.js';
import { type Holder, NOTHING_SENT, Resource } from './resource.js';
import { type Addressed, granted, next, type CommandContext, rejoin, serve } from './serve.js';
import type * as T from './commands.js';
import { inspect } from './inspect.js';
import { redeliverSignals } from './signals.js';

/** What a command did. */
export interface Outcome<C extends T.Command = T.Command> {
  readonly reply: T.ReplyTo<C>;
  readonly pushes: readonly Addressed[];
}

export class Engine {
  readonly gates: Gates = new Gates();
  readonly #resources = new Map<string, Resource>();
  readonly #receivers: (channel: string) => number;

  /** @param receivers how many have subscribed to exactly this channel at the moment */
  constructor(receivers: (channel: string) => number) {
    this.#receivers = receivers;
  }

  get size(): number {
    return this.#resources.size + this.gates.size;
  }

  keys(): IterableIterator<string> {
    return this.#resources.keys();
  }

  /** The resource of a key, for tests that compare states. */
  resource(key: string): Resource | undefined {
    return this.#resources.get(key);
  }

  /** Loses a resource and a gate, as a server may that evicts or deletes keys. */
  forget(key: string): void {
    this.#resources.delete(key);
    this.gates.forget(key);
  }

  /**
   * Forgets what has been idle for its retention. Changes no reply: `apply` never sees a forgotten
   * resource.
   */
  sweep(now: T.Micros): void {
    this.gates.sweep(now);
    for (const [key, resource] of this.#resources) {
      if (resource.forgetAt <= now) this.#resources.delete(key);
    }
  }

  apply<C extends T.Command>(command: C, now: T.Micros): Outcome<C> {
    const context: CommandContext = { now, receivers: this.#receivers, pushes: [], more: false };
    const reply = isGateCommand(command)
      ? this.gates.apply(command, context)
      : this.#reply(command, context);
    const resource = this.#resources.get(command.key);
    if (resource !== undefined) assertSound(command.key, resource, now);
    return { reply: reply as T.ReplyTo<C>, pushes: context.pushes };
  }

  #reply(command: T.LockCommand, context: CommandContext): T.Reply {
    const { key } = command;
    if ((this.#resources.get(key)?.forgetAt ?? Infinity) <= context.now)
      this.#resources.delete(key);
    let resource = this.#resources.get(key);
    if (resource === undefined && command.op === 'acquire') {
      resource = new Resource();
      this.#resources.set(key, resource);
    }
    switch (command.op) {
      case 'acquire':
        return acquire(resource as Resource, command, context);
      case 'release':
        return release(resource, command, context);
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
  const settled = held === undefined ? rejoin(resource, wanted, now) : granted(held, now);
  // who waits already is served in turn, whatever was agreed when it came
  const agreed = (): boolean =>
    resource.waiters.has(wanted.id) || resource.capacity === wanted.capacity;
  // what expired, or a place in the queue that was left to join, may have made room for others
  if (settled !== undefined || !(resource.idle || agreed())) serve(resource, context, '');
  // a waiter that lost its place comes back with a ticket: what it agreed to may be out of date
  const mayAgree = wanted.ticket === 0 || resource.capacity === 0;
  if (resource.idle && mayAgree) resource.setCapacity(wanted.capacity);
  let reply: T.AcquireReply;
  if (settled !== undefined) reply = settled;
  else if (agreed()) reply = enter(resource, wanted, context);
  else reply = { status: 'mismatch', now, capacity: resource.capacity };
  resource.touch(now, wanted.retention);
  return reply;
}

/** A newcomer never takes what the queue is owed: it is granted at once only if nobody waits. */
function enter(resource: Resource, wanted: T.Acquire, context: CommandContext): T.AcquireReply {
  const { now } = context;
  const free = (): boolean => resource.queue.size === 0 && resource.fits(wanted.weight);
  const known = resource.waiters.get(wanted.id);
  if (known !== undefined) {
    known.channel = wanted.channel;
    known.token = wanted.token;
  } else if (free()) {
    return granted(resource.grant(wanted, now, wanted.ttl), now);
  } else if (!wanted.queue) {
    serve(resource, context, '');
    // its owner may have been served just now
    const own = rejoin(resource, wanted, now);
    if (own !== undefined) return own;
    if (free()) return granted(resource.grant(wanted, now, wanted.ttl), now);
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
  if (holder !== undefined) return granted(holder, now);
  const ticket = resource.queue.score(wanted.id);
  if (ticket !== undefined) return { status: 'queued', now, ticket, next: next(resource, context) };
  const own = rejoin(resource, wanted, now);
  return own ?? { status: 'mismatch', now, capacity: resource.capacity };
}

function release(
  resource: Resource | undefined,
  wanted: T.Release,
  context: CommandContext,
): T.ReleaseReply {
  const { now } = context;
  const { id, to, retention } = wanted;
  if (resource === undefined) return { status: 'absent', now, holds: 0 };
  resource.dropExpired(now);
  const holder = resource.leaseOf(id, now);
  let status: T.ReleaseReply['status'];
  if (holder === undefined) {
    const passedBefore = to !== '' && resource.leaseOf(to, now) !== undefined;
    status = withdraw(resource, id) ? 'dequeued' : passedBefore ? 'passed' : 'absent';
  } else {
    status = letGo(resource, holder, wanted, now);
  }
  serve(resource, context, '');
  resource.touch(now, retention);
  return { status, now, holds: status === 'kept' ? (holder as Holder).holds.size : 0 };
}

/** Ends a wait, in the queue or at a condition; false if there is none. */
function withdraw(resource: Resource, id: string): boolean {
  const waiter = resource.dequeue(id);
  if (waiter === undefined) return resource.parking.remove(id) !== undefined;
  if (waiter.signalled !== '') resource.unconsumedSignals.push(waiter.signalled);
  return true;
}

function letGo(
  resource: Resource,
  holder: Holder,
  { id, to, unpassed = false }: T.Release,
  now: T.Micros,
): 'freed' | 'kept' | 'passed' {
  if (!resource.leave(holder, id)) return 'kept';
  if (to === '' && unpassed) resource.takeBackFences(holder);
  const successor = resource.waiters.get(to);
  // only a mutex has passes, so there is no other holder
  const alike = successor === undefined || (successor.owner === '' && successor.weight === 1);
  if (to === '' || holder.handOffs === 0 || holder.owner !== '' || !alike) return 'freed';
  const { ttl, channel, meta } = successor ?? holder;
  const { owner, weight } = holder;
  // the successor may die at once: it blocks others for no longer than a lease of its own
  const expires = Math.min(holder.expires, now + ttl * 1000);
  resource.dequeue(to);
  resource.add({
    ...{ id: to, owner, weight, ttl, channel, meta, expires, since: now },
    ...{ fence: holder.fence + 1, handOffs: holder.handOffs - 1, holds: new Map() },
    ...{ signalled: successor?.signalled ?? '', sent: NOTHING_SENT },
  });
  return 'passed';
}

function renew(
  resource: Resource | undefined,
  { id, ttl, retention }: T.Renew,
  context: CommandContext,
): T.RenewReply {
  const { now } = context;
  if (resource === undefined) return { status: 'absent', now, left: 0 };
  resource.dropExpired(now);
  const holder = resource.leaseOf(id, now);
  if (holder !== undefined) resource.extend(holder, now + ttl * 1000);
  serve(resource, context, '');
  resource.touch(now, retention);
  if (holder === undefined) return { status: 'absent', now, left: 0 };
  return { status: 'renewed', now, left: holder.expires - now };
}
