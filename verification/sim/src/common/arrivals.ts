/**
 * The order of the calls on a mutex in true time, which only a simulator knows. It asserts, where
 * nothing disturbs the processes:
 *
 * - `overtook`: after a fair call has arrived in the store, no lease is granted to a later call
 *   before it. Leases granted before it came may be handed on, but not to fair tasks;
 * - `missed`: a wait does not end with `HOLDFAST_TIMEOUT` if the lock has been free for longer than
 *   a question to the store takes.
 */
import type { Gate } from '../../../../packages/holdfast/dist/engine/gate.js';
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';

/** A call that names itself with its label. */
export interface Called {
  readonly name: string;
  /** Of its process. */
  readonly by: string;
  /** With the prefix. */
  readonly key: string;
  /** Fair calls of one step and process with the same terms may ask together. */
  readonly terms: string;
  readonly fair: boolean;
  /** The time of the call. */
  readonly at: number;
  /** It waits until then at least. */
  readonly until: number;
}

interface Call extends Called {
  arrivedAt: number;
  /** The store has granted it. */
  served: boolean;
}

interface Key {
  /** The calls that have not ended. */
  readonly calls: Map<string, Call>;
  /** The entries that the store has had, with the names of their calls. */
  readonly entries: Map<string, string>;
  /** When each entry was granted. */
  readonly grants: Map<string, number>;
  /** Leases of the last state: their calls, and the ends with which the store granted them. */
  granted: Map<string, { readonly call: Call; readonly end: number }>;
  /** The ends of the leases in the last state. */
  ends: ReadonlyMap<string, number>;
  /** The processes that the last state named. */
  known: ReadonlySet<string>;
  /** Who had the whole capacity, and since when. */
  readonly held: { readonly at: number; readonly by: readonly string[] }[];
}

interface Entry {
  readonly id: string;
  readonly meta: string;
  readonly tasks: number;
}

export interface Judge {
  readonly scheduler: { readonly now: number };
  /** The clock of the store, in µs. */
  readonly time?: number;
  /** Leases that a process has claimed may end by themselves too. */
  readonly lapses?: boolean;
  report(kind: string, text: string): void;
}

/** How a world says what it judges. */
export interface Terms {
  /** The name of the call with a label. */
  nameOf(label: string, key: string): string;
  /** Nothing has disturbed a waiting call since a time. */
  isClear(name: string, since: number): boolean;
}

/** It keeps a gate closed. */
const CLOSED = '';
/** The states of a key that are kept, at most. */
const HELD_MAX = 50;
const ALL: Terms = { nameOf: (label) => label, isClear: () => true };

export class Arrivals {
  readonly #world: Judge;
  readonly #terms: Terms;
  readonly #keys = new Map<string, Key>();

  constructor(world: Judge, terms: Terms = ALL) {
    this.#world = world;
    this.#terms = terms;
  }

  called(call: Called): void {
    const own = { ...call, arrivedAt: Number.POSITIVE_INFINITY, served: false };
    this.#key(call.key).calls.set(call.name, own);
  }

  /** Its call has its lease. */
  granted(key: string, name: string, id: string): void {
    const { calls, grants } = this.#key(key);
    const call = calls.get(name);
    if (call === undefined) return;
    calls.delete(name);
    const [root = '', next] = id.split('/');
    const grantedAt = grants.get(root);
    if (next === undefined || grantedAt === undefined) return;
    for (const one of calls.values()) {
      const mayGoOn = !call.fair && grantedAt <= one.arrivedAt;
      if (!mayGoOn && this.#waits(one, call)) this.#overtook(one, call, id);
    }
  }

  /** It was given up. */
  ended(key: string, name: string): void {
    this.#key(key).calls.delete(name);
  }

  /** A process did not claim its lease in time, or lost it: its calls have no place. */
  lostTurn(key: string, by: string): void {
    for (const call of this.#key(key).calls.values())
      if (call.by === by) call.arrivedAt = Number.POSITIVE_INFINITY;
  }

  /** The state of a key has changed. */
  changed(name: string, resource: Resource | undefined, gate: Gate | undefined): void {
    const key = this.#key(name);
    const { now } = this.#world.scheduler;
    const holders = [...(resource?.holders.values() ?? [])];
    const gates = (gate?.missing ?? 0) > 0 ? [CLOSED] : [];
    key.held.push({ at: now, by: [...holders.map(({ id }) => processOf(id)), ...gates] });
    if (key.held.length > HELD_MAX) key.held.shift();
    if (key.calls.size === 0) return;
    const waiters = [...(resource?.waiters.values() ?? [])];
    this.#silent(key, name, [...waiters, ...holders, ...(resource?.parking.all() ?? [])]);
    const { lapses = false, time = 0 } = this.#world;
    const gone = [...key.ends].filter(([id]) => resource?.holders.has(id) !== true);
    for (const [id, end] of gone) {
      const { call, end: first } = key.granted.get(id) ?? {};
      key.granted.delete(id);
      const isUnknown = call !== undefined && key.calls.has(call.name);
      const isOver = end <= time && (lapses || first === end);
      // with the tasks that it was to be handed on to
      if (isUnknown || isOver) this.lostTurn(name, processOf(id));
    }
    key.ends = new Map(holders.map(({ id, expires }) => [id, expires]));
    for (const entry of waiters) this.#arrived(key, name, entry);
    for (const entry of holders) {
      const call = this.#arrived(key, name, entry);
      if (key.grants.has(entry.id)) continue;
      key.grants.set(entry.id, now);
      if (call === undefined) continue;
      call.served = true;
      key.granted.set(entry.id, { call, end: entry.expires });
      for (const one of key.calls.values())
        if (this.#waits(one, call)) this.#overtook(one, call, entry.id);
    }
  }

  /**
   * A wait ended with `HOLDFAST_TIMEOUT`.
   * @param by its process
   * @param takes how long a question to the store and its answer take, in ms, at most
   */
  timedOut(name: string, by: string, takes: number): void {
    const from = this.#world.scheduler.now - takes;
    const { held } = this.#key(name);
    const first = held.findLastIndex(({ at }) => at <= from);
    const others = held.slice(Math.max(0, first)).flatMap((one) => one.by);
    if (first < 0 || others.some((one) => one !== by)) return;
    this.#world.report(
      'missed',
      `a wait of ${by} for ${name} ended, which is free for ${takes} ms`,
    );
  }

  /** The store drops the waiters of a process that is silent for too long. */
  #silent(key: Key, name: string, entries: readonly Pick<Entry, 'id'>[]): void {
    const known = new Set(entries.map(({ id }) => processOf(id)));
    for (const by of key.known) if (!known.has(by)) this.lostTurn(name, by);
    key.known = known;
  }

  /** An entry of the store. Returns the call that it names, unless that has ended. */
  #arrived({ calls, entries }: Key, key: string, { id, meta, tasks }: Entry): Call | undefined {
    const known = entries.get(id);
    if (known !== undefined) return calls.get(known);
    const { label = '' } = JSON.parse(meta || '{}') as { label?: string };
    const name = this.#terms.nameOf(label, key);
    entries.set(id, name);
    const first = calls.get(name);
    if (first === undefined) return undefined;
    let left = Math.max(1, tasks);
    for (const call of calls.values()) {
      const isNext = call === first || (left < tasks && sameStep(call, first));
      if (!isNext || left === 0) continue;
      left -= 1;
      call.arrivedAt = Math.min(call.arrivedAt, this.#world.scheduler.now);
    }
    return first;
  }

  /** A fair call waits that had arrived before another call began. */
  #waits({ name, fair, served, arrivedAt, until }: Call, { at }: Call): boolean {
    const isEarlier = fair && !served && arrivedAt < at;
    return isEarlier && this.#world.scheduler.now < until && this.#terms.isClear(name, arrivedAt);
  }

  #overtook(waiting: Call, call: Call, id: string): void {
    const by = `${call.name} (${id}), called at ${call.at}`;
    const text = `${waiting.name}, in the queue since ${waiting.arrivedAt}, is overtaken by ${by}`;
    this.#world.report('overtook', `${call.key}: ${text}`);
  }

  #key(name: string): Key {
    let key = this.#keys.get(name);
    if (key === undefined) {
      const maps = { calls: new Map(), entries: new Map(), grants: new Map(), granted: new Map() };
      key = { ...maps, known: new Set(), ends: new Map(), held: [] };
      this.#keys.set(name, key);
    }
    return key;
  }
}

function processOf(id: string): string {
  return id.slice(0, id.lastIndexOf('.'));
}

function sameStep(one: Call, other: Call): boolean {
  const isFair = one.fair && other.fair && one.terms === other.terms;
  return isFair && one.by === other.by && one.at === other.at;
}
