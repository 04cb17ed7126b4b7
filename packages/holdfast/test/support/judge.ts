/**
 * Observes an engine from outside while commands run, and reports each invariant that a command
 * broke. It does not use the engine's code: it compares the state before and after each command.
 */
import { Engine } from '../../src/engine/engine.js';
import type { Holder, Waiter } from '../../src/engine/entries.js';
import type { Resource } from '../../src/engine/resource.js';
import type { KeyCommand, Reply } from '../../src/engine/commands.js';
import { commandOf, elapsedOf, KEYS, LIVE_CHANNELS, type Step } from './traffic.js';

/** The hand-offs that the traffic asks for at most. */
const HAND_OFFS_MAX = 20;

type PastHolder = Readonly<Pick<Holder, 'id' | 'fence' | 'weight' | 'handOffs' | 'expires'>>;

/** The observations of a key so far. */
interface Past {
  /** The largest fence of a grant. */
  top: number;
  readonly holders: Map<string, PastHolder>;
  readonly waiters: Map<string, Pick<Waiter, 'ticket' | 'fair'>>;
  readonly parked: Set<string>;
  /** The sum of the weights of the leases. */
  held: number;
}

export class Judge {
  now = 1_000_000_000_000;
  grants = 0;
  overtakings = 0;
  readonly engine: Engine = new Engine((channel) => (LIVE_CHANNELS.includes(channel) ? 1 : 0));
  readonly #past: Map<string, Past> = new Map();
  readonly #tickets: Map<string, number> = new Map();

  run(steps: readonly Step[]): void {
    for (const step of steps) {
      const { key } = step.command;
      this.now += elapsedOf(step, this.engine.resource(key), this.now);
      this.apply(commandOf(step, this.engine.resource(key), this.#tickets));
    }
    this.#leave();
  }

  apply(command: KeyCommand): Reply {
    const { key } = command;
    const { reply } = this.engine.apply(command, this.now);
    if (command.op === 'acquire' && reply.status === 'queued') {
      this.#tickets.set(`${key} ${command.id}`, reply.ticket);
    }
    const resource = this.engine.resource(key);
    if (command.op === 'inspect' || resource === undefined) return reply;
    const past = this.#pastOf(key);
    sound(resource);
    parkedApart(resource);
    past.held = exclusion(resource, this.now, past.held);
    noLostWakeUp(resource, this.now);
    this.#grantsSince(past, resource, command);
    past.holders.clear();
    past.waiters.clear();
    past.parked.clear();
    for (const { id } of resource.parking.all()) past.parked.add(id);
    for (const holder of resource.holders.values()) past.holders.set(holder.id, { ...holder });
    for (const waiter of resource.waiters.values()) past.waiters.set(waiter.id, waiter);
    return reply;
  }

  /** I2 and I4: the grants of this command, their fences, and the waiters that they overtook. */
  #grantsSince(past: Past, resource: Resource, command: KeyCommand): void {
    for (const holder of past.holders.values()) {
      if (resource.holders.get(holder.id)?.fence === holder.fence) continue;
      past.top = Math.max(past.top, lastUsed(holder, command, this.now));
    }
    const fresh = [...resource.holders.values()]
      .filter(({ id, fence, weight }) => {
        const before = past.holders.get(id);
        return before?.fence !== fence || before.weight < weight;
      })
      .sort((a, b) => a.fence - b.fence);
    for (const { id, fence, handOffs } of fresh) {
      this.grants += 1;
      demand(fence > past.top, `I2: fence ${fence} of ${id} after ${past.top}`);
      past.top = fence;
      const isFair = past.waiters.get(id)?.fair ?? asksFairly(command, id);
      const most = handOffsAt(resource, isFair);
      demand(handOffs <= most, `I4: ${handOffs} hand-offs are allowed`);
      // the tasks of a fair root are at its own place in the queue
      if (!isFair) this.overtakings += handOffs;
      // A waiter woken by this command was the last to join the queue.
      if (past.parked.has(id)) afterAll(id, past, resource);
      // An owner gets more of its lease at once or not at all: it cannot wait for itself.
      else if (command.op === 'resize' && past.holders.has(id)) continue;
      else if (!past.parked.has(headOf(resource) ?? ''))
        inTurn(id, past.waiters.get(id)?.ticket ?? regained(command, id, this.now), resource);
    }
  }

  /** All acquisitions end: the state must be empty (I6, I9). */
  #leave(): void {
    for (const key of KEYS) {
      const resource = this.engine.resource(key);
      if (resource === undefined) continue;
      for (const id of [...resource.holds.keys(), ...resource.holders.keys()])
        this.#release(key, id);
      for (const id of resource.waiters.keys()) this.#release(key, id);
      for (const { id } of resource.parking.all()) this.#release(key, id);
      for (const id of resource.waiters.keys()) this.#release(key, id);
      for (const id of [...resource.holds.keys(), ...resource.holders.keys()])
        this.#release(key, id);
      const { holders, expiries, waiters, queue, owners, holds, used, fairWaiting } = resource;
      demand(resource.parking.size === 0, 'I6: an acquisition is parked');
      const left = [holders, expiries, waiters, queue, owners, holds].map(({ size }) => size);
      const all = [...left, used, fairWaiting, resource.latest, resource.processes.all.size].join(
        ' ',
      );
      demand(all === '0 0 0 0 0 0 0 0 0 0', `I6: remaining: ${all}`);
      this.engine.sweep(resource.forgetAt);
    }
    demand(this.engine.size === 0, 'I9: a key is never forgotten');
  }

  #release(key: string, id: string): void {
    this.apply({ op: 'release', key, id, retention: 86_400_000 });
  }

  #pastOf(key: string): Past {
    const fresh = { top: 0, held: 0 };
    const empty = { holders: new Map(), waiters: new Map(), parked: new Set<string>() };
    const past = this.#past.get(key) ?? { ...fresh, ...empty };
    this.#past.set(key, past);
    return past;
  }
}

/** True if the command asks for a place in strict order. */
function asksFairly(command: KeyCommand, id: string): boolean {
  const asks = command.op === 'turn' ? command.again : command.op === 'acquire' ? command.id : '';
  return asks === id && 'fair' in command && command.fair === true;
}

/** The most hand-offs of a grant that left the resource in this state. */
function handOffsAt({ capacity, fairWaiting, queue }: Resource, isFair: boolean): number {
  if (capacity > 1) return 0;
  if (isFair) return HAND_OFFS_MAX;
  if (fairWaiting > 0) return 0;
  return queue.size > 0 ? HAND_OFFS_MAX : 128;
}

/** The highest fence that may have been used under a lease that has ended. */
function lastUsed(holder: PastHolder, command: KeyCommand, now: number): number {
  const { id, fence, handOffs, expires } = holder;
  const named = 'id' in command && command.id === id && expires > now;
  const reserved = fence + handOffs;
  if (!named || command.op === 'forceRelease') return reserved;
  if (command.op === 'release') return command.unpassed === true ? fence : reserved;
  const told = command.op === 'turn' && command.fence !== fence ? fence : command;
  const used = typeof told === 'object' && 'used' in told ? (told.used ?? fence) : fence;
  return Math.min(reserved, Math.max(fence, used));
}

/** The place in the queue that an acquisition asks for. */
function regained(command: KeyCommand, id: string, now: number): number | undefined {
  const isAgain = command.op === 'turn' && command.again === id;
  if (!isAgain && (command.op !== 'acquire' || command.id !== id)) return undefined;
  const { ticket = 0, waited = 0 } = command;
  return ticket === 0 ? placeAfter(waited, now) : ticket;
}

function placeAfter(waited: number, now: number): number | undefined {
  return waited === 0 ? undefined : Math.max(1, now - waited * 1000);
}

/** Redundant fields must agree. */
function sound(resource: Resource): void {
  const { holders, expiries, waiters, queue, owners, holds, used, fairWaiting } = resource;
  const held = [...holders.values()];
  const waiting = [...waiters.values()];
  demand(used === sum(held.map(({ weight }) => weight)), 'I1: used is not the sum of the weights');
  demand(fairWaiting === waiting.filter(({ fair }) => fair).length, 'I4: fairWaiting is wrong');
  const alone = held.length === 1 || held.every(({ handOffs }) => handOffs === 0);
  demand(alone, 'I2: a lease beside a root with reserved fences');
  demand(expiries.size === holders.size && queue.size === waiters.size, 'orders are incomplete');
  demand(
    owners.size === held.filter(({ owner }) => owner !== '').length,
    'the count of owners is wrong',
  );
  demand(holds.size === sum(held.map((one) => one.holds.size)), 'the count of holds is wrong');
  const owned = held.filter(({ owner }) => owner !== '');
  const heaviest = (one: Holder): number =>
    Math.max(...[...one.holds.values()].map(({ weight }) => weight));
  demand(
    owned.every((one) => one.weight === heaviest(one)),
    'I1: a lease does not have the weight of its heaviest hold',
  );
  demand(
    held.every(({ id, due }) => expiries.score(id) === due),
    'the order of the expiries is wrong',
  );
  const ends = ({ holds, expires }: Holder): number[] =>
    holds.size === 0 ? [expires] : [...holds.values()].map((hold) => hold.expires);
  demand(
    held.every((one) => one.due <= Math.min(...ends(one)) && one.expires <= resource.latest) &&
      held.every((one) => one.expires >= Math.max(...ends(one))),
    'the expiries are wrong',
  );
}

/** No acquisition is in two places, and no signal is lost. */
function parkedApart({
  parking,
  processes,
  waiters,
  holders,
  holds,
  unconsumedSignals,
}: Resource): void {
  const all = parking.all();
  const elsewhere = all.find(({ id }) => waiters.has(id) || holders.has(id) || holds.has(id));
  demand(elsewhere === undefined, `I3: ${elsewhere?.id} is parked and also queued or held`);
  demand(unconsumedSignals.length === 0, 'a signal was not redelivered');
  const waiting = sum([...processes.all.values()].map((one) => one.waiters));
  demand(waiting === all.length + waiters.size, 'the processes are incomplete');
  const counted = sum([...parking.conditions].map((condition) => parking.count(condition)));
  demand(counted === all.length, 'the conditions are incomplete');
}

/** Leases may exceed a lowered capacity, but no lease may be added. */
function exclusion(resource: Resource, now: number, before: number): number {
  const live = [...resource.holders.values()].filter(({ expires }) => expires > now);
  const held = sum(live.map(({ weight }) => weight));
  const most = Math.max(resource.capacity, before);
  demand(held <= most, `I1: ${held} of ${resource.capacity} permits are held`);
  return held;
}

function noLostWakeUp(resource: Resource, now: number): void {
  const kept = [...resource.holders.values()].filter(({ expires }) => expires <= now);
  demand(kept.length === 0, 'I5: an expired lease is kept');
  const head = resource.waiters.get(headOf(resource) ?? '');
  if (head === undefined) return;
  const own = resource.leaseOfOwner(head.owner, now);
  demand(own === undefined, `I5: ${head.id} waits for a lease of its own owner`);
  demand(head.weight <= resource.capacity, `I5: ${head.id} waits for more than the capacity`);
  demand(!resource.fits(head.weight), `I5: ${head.id} waits although its weight fits`);
}

/** A waiter that the store granted was the first in the queue. */
function inTurn(id: string, ticket: number | undefined, resource: Resource): void {
  const first = headOf(resource);
  if (first === undefined) return;
  const before = resource.queue.score(first) as number;
  demand(ticket !== undefined && ticket <= before, `I4: ${id} was granted before ${first}`);
}

/** A waiter that this command woke is behind all waiters that were queued. */
function afterAll(id: string, { waiters }: Past, resource: Resource): void {
  const first = headOf(resource);
  demand(first === undefined || !waiters.has(first), `I4: ${id} was woken before ${first}`);
}

/** Does not use the engine's methods: a broken method must not mislead the judge. */
function headOf({ queue }: Resource): string | undefined {
  return queue.first(1)[0];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function demand(truth: boolean, message: string): void {
  if (!truth) throw new Error(message);
}
