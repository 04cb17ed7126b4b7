/**
 * Random traffic for the engine: commands on few keys, in every order that careless callers and
 * failures can cause (repeats, unknown ids, mixed capacities, dead channels, clock steps).
 *
 * A step does not name an acquisition. It selects a kind: a holder, a waiter or a newcomer. The id
 * is resolved when the step runs, from the state at that time. Most commands therefore meet a live
 * acquisition, and a sequence that fast-check shortens keeps its meaning.
 */
import fc from 'fast-check';
import { changesOf, fixed } from './fixed-step.js';
import { idOf, ownerOf, parkedAs, type Pointer, POOL, poolFrom, withoutOwner } from './pointer.js';
import type { Resource } from '../../src/engine/resource.js';
import type { LockKind } from '../../src/engine/kinds.js';
import type { Acquire, KeyCommand, Park, Renew, RenewMany } from '../../src/engine/commands.js';

/** One step: the clock moves, then a command arrives. */
export interface Step {
  /** Microseconds, rarely negative; or until the next lease ends. */
  readonly elapsed: number | 'to the next expiry';
  /** The command. Its ids are set when the command is sent. */
  readonly command: KeyCommand;
  readonly id: Pointer;
  readonly to: Pointer;
  readonly ids: readonly Pointer[];
  /**
   * Uses the acquisition's old place, the current fence or the current capacity; renews a lease of
   * each key with one command.
   */
  readonly again: boolean;
  /** The complete command, with its ids. */
  readonly literal?: boolean;
}

/** Channels with a subscriber. All other channels are dead. */
export const LIVE_CHANNELS: readonly string[] = ['live-1', 'live-2'];

/** The usual capacity of each key: a mutex and a semaphore. */
const CAPACITY: Record<string, number> = { k1: 1, k2: 3 };
export const KEYS: readonly string[] = Object.keys(CAPACITY);

/** Longer than all time steps of a sequence together, so that nothing expires in between. */
const RETENTION = 86_400_000;
const NEWCOMER: Pointer = { who: 'newcomer', pick: 0 };

type Weighted = readonly (readonly [weight: number, who: Pointer['who']])[];

function pointer(...kinds: Weighted): fc.Arbitrary<Pointer> {
  const who = kinds.map(([weight, kind]) => ({ weight, arbitrary: fc.constant(kind) }));
  return fc.record({ who: fc.oneof(...who), pick: fc.nat(POOL - 1) });
}

const key = fc.constantFrom(...KEYS);
const ttl = fc.constantFrom(1, 5, 50, 1000, 1000);
/** 0: extends nothing. */
const renewed = fc.constantFrom(0, 1, 5, 50, 1000, 1000);
const retention = fc.constant(RETENTION);
const anyRetention = fc.constantFrom(RETENTION / 4, RETENTION, RETENTION, 4 * RETENTION);
const token = fc.constantFrom('', 't1', 't2');
const patience = fc.constantFrom(0, 3, 50, ...Array.from({ length: 20 }, () => 100_000));
const id = fc.constant('');

const usual = Array.from({ length: 20 }, () => 'mutex' as const);
const perhaps = Array.from({ length: 12 }, () => 'flight' as const);
const acquire = fc.record({
  op: fc.constant('acquire' as const),
  key,
  id,
  owner: fc.constant(''),
  weight: fc.constantFrom(1, 1, 1, 2, 3),
  // `mutex` stands for the agreed or usual kind, `flight` for the agreed one or a semaphore.
  // Rarely another kind or capacity.
  kind: fc.constantFrom<LockKind>(...usual, ...perhaps, 'semaphore', 'semaphore', 'rw-lock'),
  capacity: fc.constantFrom(...Array.from({ length: 30 }, () => 0), 1, 3, 4),
  ttl,
  claim: fc.constantFrom(1, 3, 20),
  fair: fc.constantFrom(false, false, false, true),
  handOffs: fc.constantFrom(0, 1, 3, 20),
  channel: fc.constantFrom('', 'live-1', 'live-1', 'live-2', 'live-2', 'dead-1', 'dead-2'),
  queue: fc.constantFrom(true, true, true, true, false),
  waited: fc.constantFrom(0, 0, 1, 20),
  tasks: fc.constantFrom(0, 1, 5),
  ticket: fc.constant(0),
  maxQueue: fc.constantFrom(3, 100, 100, 100),
  ...{ retention, patience, token },
  meta: fc.constantFrom('', 'é', '{"host":"h"}'),
});

const op = <T extends string>(name: T): fc.Arbitrary<T> => fc.constant(name);
const noPointer = fc.constant<Pointer>({ who: 'none', pick: 0 });
const anyId = pointer([4, 'holder'], [3, 'waiter'], [2, 'parked'], [1, 'any']);
const condition = fc.constantFrom('c1', 'c1', 'c1', 'c2');
const ids = fc.array(anyId, { maxLength: 4 });
const none = fc.constant<Pointer[]>([]);
const limit = fc.constantFrom(1, 50);
const weight = fc.constantFrom(1, 1, 1, 2, 3, 4);
const zero = fc.constant(0);
/** For commands that matter more where there are several leases. */
const mostly = fc.constantFrom('k1', 'k2', 'k2', 'k2');

/** The usual use of conditions. */
const most = fc.constantFrom('k1', 'k1', 'k1', 'k1', 'k2');
const count = fc.constantFrom(0, 0, 1, 1, 2);
const seq = fc.constantFrom(1, 2, 3, 4);
const parking = fc.record({
  ...{ op: op('park'), key: most, id, as: id, condition, ttl, retention, patience, token },
  want: fc.constantFrom('signal', 'signal', 'signal', 'permits', 'nothing'),
  used: fc.nat(4),
  claim: fc.constantFrom(1, 3, 20),
  fair: fc.constantFrom(false, false, false, true),
  channel: fc.constantFrom('', 'live-1', 'live-2', 'dead-1'),
  maxParked: fc.constantFrom(1, 100, 100),
  meta: fc.constantFrom('', 'é'),
});

/** `fence` and `used` are set for the root that the step selects. */
const turning = fc.record({
  ...{ op: op('turn'), key: most, id, fence: zero, used: fc.nat(4), again: id, ttl, token },
  claim: fc.constantFrom(1, 3, 20),
  handOffs: fc.constantFrom(0, 1, 3, 20),
  channel: fc.constantFrom('', 'live-1', 'live-2', 'dead-1'),
  waited: fc.constantFrom(0, 1, 20),
  tasks: fc.constantFrom(0, 1, 5),
  meta: fc.constantFrom('', 'é'),
  fair: fc.constantFrom(false, false, true),
  ticket: fc.constantFrom(0, 0, 7),
  ...{ retention, patience },
});

const renewing = fc.record({
  ...{ op: op('renew'), key, id, ttl: renewed, retention: anyRetention },
  channel: fc.constantFrom('', '', '', 'live-1', 'dead-1'),
  tasks: fc.constantFrom(undefined, undefined, 0, 7),
});

const signalling = fc.record({
  ...{ op: op('signal'), key: most, id, condition, count, seq, retention },
});

/** A kind of command, and the acquisition that it selects. */
function kind(
  weight: number,
  command: fc.Arbitrary<KeyCommand>,
  points: { id?: fc.Arbitrary<Pointer>; to?: fc.Arbitrary<Pointer>; ids?: typeof ids } = {},
): { weight: number; arbitrary: fc.Arbitrary<Omit<Step, 'elapsed'>> } {
  const { id: own = noPointer, to = noPointer, ids: several = none } = points;
  const again = fc.boolean();
  return { weight, arbitrary: fc.record({ command, id: own, to, ids: several, again }) };
}

const action = fc.oneof(
  kind(12, acquire, {
    id: pointer([8, 'newcomer'], [2, 'waiter'], [1, 'holder'], [1, 'any']),
  }),
  kind(7, fc.record({ op: op('release'), key, id, unpassed: fc.boolean(), retention }), {
    id: pointer([10, 'holder'], [2, 'waiter'], [1, 'parked'], [1, 'any']),
  }),
  kind(4, turning, {
    id: pointer([12, 'holder'], [1, 'waiter'], [1, 'any']),
    to: pointer([3, 'none'], [8, 'newcomer'], [1, 'waiter'], [1, 'any']),
  }),
  kind(4, renewing, {
    id: pointer([6, 'holder'], [1, 'waiter'], [1, 'any']),
  }),
  kind(3, fc.record({ op: op('poll'), key, ids: fc.constant([]), patience, retention }), { ids }),
  kind(1, fc.record({ op: op('forceRelease'), key: mostly, id, retention }), {
    id: pointer([3, 'none'], [3, 'holder'], [1, 'any']),
  }),
  kind(1, fc.record({ op: op('inspect'), key, limit })),
  kind(5, parking, {
    id: pointer([8, 'holder'], [1, 'any']),
    to: pointer([8, 'newcomer'], [3, 'parked'], [2, 'waiter'], [2, 'holder'], [1, 'any']),
  }),
  kind(3, signalling, {
    id: pointer([8, 'holder'], [1, 'any']),
  }),
  kind(3, fc.record({ op: op('resize'), key, id, weight, seq: zero, retention }), {
    id: pointer([8, 'holder'], [1, 'waiter'], [1, 'any']),
  }),
  kind(2, fc.record({ op: op('capacity'), key: mostly, from: zero, capacity: weight, retention })),
);

const elapsed = fc.oneof(
  { weight: 8, arbitrary: fc.constant(0) },
  { weight: 7, arbitrary: fc.integer({ min: 1, max: 1500 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1500, max: 60_000 }) },
  { weight: 2, arbitrary: fc.constant('to the next expiry' as const) },
  { weight: 1, arbitrary: fc.integer({ min: -50_000, max: -1 }) },
);

const step: fc.Arbitrary<Step> = fc
  .tuple(elapsed, action)
  .map(([time, rest]) => ({ elapsed: time, ...rest }));

/** Several that park and one that signals: random steps rarely produce this. */
const play: fc.Arbitrary<Step[]> = fc
  .tuple(fc.array(fc.tuple(acquire, parking), { minLength: 1, maxLength: 3 }), acquire, signalling)
  .map(([parks, signaller, signal]) => [
    ...parks.flatMap(([first, second]) => [onMutex(first), onMutex(second)]),
    onMutex(signaller),
    onMutex(signal),
  ]);

function onMutex(command: KeyCommand): Step {
  const id: Pointer = { who: command.op === 'acquire' ? 'newcomer' : 'holder', pick: 0 };
  const own = command.op === 'acquire' ? { kind: 'mutex', capacity: 1, weight: 1 } : {};
  const changed = { ...command, ...own, key: 'k1' } as KeyCommand;
  return { elapsed: 0, command: changed, id, to: NEWCOMER, ids: [], again: false };
}

/** Sequences of about a hundred steps, which fast-check can shorten when they fail. */
export const traffic: fc.Arbitrary<Step[]> = fc
  .array(
    fc.oneof({ weight: 30, arbitrary: step.map((one) => [one]) }, { weight: 1, arbitrary: play }),
    { minLength: 1, maxLength: 200, size: 'max' },
  )
  .map((parts) => parts.flat());

/** A step with fixed values. */
export function literally(command: KeyCommand, time = 0): Step {
  const to: Pointer = { who: 'none', pick: 0 };
  return { elapsed: time, command, id: to, to, ids: [], again: false, literal: true };
}

/** How far the clock moves in the present state. */
export function elapsedOf(one: Step, resource: Resource | undefined, now: number): number {
  if (one.elapsed !== 'to the next expiry') return one.elapsed;
  const [first] = resource?.expiries.first(1) ?? [];
  return first === undefined ? 0 : Math.max(0, (resource?.expiries.score(first) ?? 0) - now);
}

/** The command of a step, for the present state and the tickets of earlier replies. */
export function commandOf(
  one: Step,
  resource: Resource | undefined,
  tickets: ReadonlyMap<string, number>,
): KeyCommand {
  const { command } = one;
  if (one.literal === true) return fixed(command, resource);
  const at = (to: Pointer): string => idOf(to, resource);
  const parked = (id: string): boolean => resource?.parking.get(id) !== undefined;
  const notParked = (to: Pointer): string =>
    [at(to), ...poolFrom(to.pick)].find((id) => !parked(id)) as string;
  switch (command.op) {
    case 'acquire': {
      const who = notParked(one.id);
      const ticket = one.again ? (tickets.get(`${command.key} ${who}`) ?? 0) : 0;
      const { kind, capacity } = agreedOf(command, resource);
      // No request exceeds the capacity.
      const weighs = Math.min(command.weight, capacity);
      const owner = ownerOf(who);
      // the lease of an owner is never handed off
      const handOffs = owner === '' ? command.handOffs : 0;
      return { ...command, id: who, owner, handOffs, ticket, kind, capacity, weight: weighs };
    }
    case 'release':
      return { ...command, id: at(one.id) };
    case 'turn': {
      const who = at(one.id);
      const named = resource?.holders.get(who)?.fence ?? 1;
      // rarely another fence than that of the lease
      const fence = command.used < 4 ? named : Math.max(1, named - 1);
      const again = one.to.who === 'none' ? '' : withoutOwner(one.to, resource);
      return { ...command, id: who, fence, used: fence + command.used, again };
    }
    case 'resize': {
      const who = at(one.id);
      const last = changesOf(who, resource);
      return { ...command, id: who, seq: one.again ? last + 1 : last };
    }
    case 'capacity':
      return { ...command, from: one.again ? (resource?.capacity ?? 0) : 9 };
    case 'renew':
    case 'forceRelease':
      return { ...command, id: at(one.id) };
    case 'park':
      return parkOf(command, at(one.id), one, resource);
    case 'signal':
      return { ...command, id: at(one.id) };
    case 'poll':
      return { ...command, ids: one.ids.map(at) };
    case 'inspect':
    case 'arrive':
    case 'watch':
    case 'endGeneration':
      return command;
  }
}

/** The kind and the capacity that the key has, unless the command has drawn another one. */
function agreedOf(
  { key, kind: drawn, capacity: other }: Acquire,
  resource: Resource | undefined,
): Pick<Acquire, 'kind' | 'capacity'> {
  const used = resource !== undefined && !resource.idle;
  const usually = CAPACITY[key] as number;
  const first = usually === 1 && drawn === 'mutex' ? 'mutex' : 'semaphore';
  const agreed = used ? resource.kind : first;
  const kind = drawn === 'mutex' || drawn === 'flight' ? agreed : drawn;
  if (kind === 'mutex') return { kind, capacity: 1 };
  return { kind, capacity: other || (used ? resource.capacity : usually) };
}

/** `used` of the drawn command is the number of hand-offs of the lease. */
function parkOf(command: Park, id: string, { to, again }: Step, resource?: Resource): Park {
  const fence = resource?.holders.get(id)?.fence ?? 0;
  const used = again ? fence + (command.used ?? 0) : 0;
  return { ...command, id, as: parkedAs(to, id, resource), used };
}

/** The renewal of a step as one command for a lease of each key. */
export function renewalOfAll(
  { id }: Step,
  { op, ttl, retention }: Renew,
  resourceOf: (key: string) => Resource | undefined,
): RenewMany {
  const ids = KEYS.map((name) => idOf(id, resourceOf(name)));
  return { op: `${op}Many`, keys: KEYS, ids, ttl, retention };
}
