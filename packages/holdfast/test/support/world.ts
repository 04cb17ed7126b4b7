/** An engine, a stopped clock, and short helpers for the examples. */
import { Engine } from '../../src/engine/engine.js';
import type * as T from '../../src/engine/commands.js';

const key = 'k';
const retention = 60_000;

/** A reply as the examples read it: all fields are accessible. */
type Answer = { status: T.AcquireReply['status']; now: number } & Partial<
  Omit<T.Granted, 'status' | 'now'> & Omit<T.Queued, 'status' | 'now'>
>;

export class World {
  now = 1_000_000_000;
  engine: Engine;
  readonly dead: Set<string> = new Set();
  readonly #receivers = (channel: string): number => (this.dead.has(channel) ? 0 : 1);
  #pushes: string[] = [];
  #changes = 0;

  constructor() {
    this.engine = new Engine(this.#receivers);
  }

  /** Deletes the whole state of the store. */
  lose(): void {
    this.engine = new Engine(this.#receivers);
  }

  apply<C extends T.Command>(command: C): T.ReplyTo<C> {
    const { reply, pushes } = this.engine.apply(command, this.now);
    this.#pushes.push(
      ...pushes.map(({ push }) => ('id' in push ? `${push.kind} ${push.id}` : push.kind)),
    );
    return reply;
  }

  /**
   * Asks for permits; by default of a mutex, or of a semaphore if the capacity is not 1, with
   * pushes to a channel named after `id`.
   */
  ask(id: string, more: Partial<T.Acquire> = {}): Answer {
    const kind = (more.capacity ?? 1) === 1 ? 'mutex' : 'semaphore';
    return this.apply({
      ...{ op: 'acquire', key, id, owner: '', weight: 1, kind, capacity: 1 },
      ...{ ttl: 10_000, claim: 1000 },
      ...{ fair: false, handOffs: 0, channel: `to ${id}`, queue: true, ticket: 0, maxQueue: 100 },
      ...{ patience: 3_600_000, retention, meta: '', token: `of ${id}` },
      ...more,
    } satisfies T.Acquire);
  }

  /** Asks, and expects a grant. */
  grant(id: string, more: Partial<T.Acquire> = {}): T.Granted {
    const answer = this.ask(id, more);
    if (answer.status !== 'granted') throw new Error(`${id} was not granted: ${answer.status}`);
    return answer as T.Granted;
  }

  release(id: string, unpassed = false): T.ReleaseReply {
    return this.apply({ op: 'release', key, id, unpassed, retention });
  }

  /** Ends the root `id`; `again` is the next root of its process, or `''`. */
  turn(id: string, fence: number, again = '', more: Partial<T.Turn> = {}): T.TurnReply {
    return this.apply({
      ...{ op: 'turn', key, id, fence, used: fence, again, ttl: 10_000, claim: 1000, handOffs: 0 },
      ...{ channel: `to ${again}`, token: `of ${again}`, waited: 0, tasks: 1 },
      ...{ patience: 3_600_000, retention, meta: '' },
      ...more,
    } satisfies T.Turn);
  }

  renew(id: string, ttl = 10_000): T.RenewReply {
    return this.apply({ op: 'renew', key, id, ttl, retention });
  }

  poll(...ids: string[]): T.PollReply {
    return this.apply({ op: 'poll', key, ids, patience: 3_600_000, retention });
  }

  force(id = ''): T.ForceReleaseReply {
    return this.apply({ op: 'forceRelease', key, id, retention });
  }

  /** Releases the lease of `id`, and parks as `as`. */
  park(id: string, as: string, more: Partial<T.Park> = {}): T.ParkReply {
    return this.apply({
      ...{ op: 'park', key, id, as, condition: 'c', want: 'signal', ttl: 10_000, claim: 1000 },
      ...{ fair: false, channel: `to ${as}`, maxParked: 100, retention, meta: '' },
      ...{ patience: 3_600_000, token: `of ${as}` },
      ...more,
    } satisfies T.Park);
  }

  signal(id: string, seq: number, more: Partial<T.Signal> = {}): T.SignalReply {
    return this.apply({
      ...{ op: 'signal', key, id, condition: 'c', count: 1, seq, retention },
      ...more,
    } satisfies T.Signal);
  }

  /** Ids of the parked acquisitions. */
  parked(): string[] {
    return this.show(10_000).parked.map(({ id }) => id);
  }

  /** Changes a weight; `seq` is by default the number of a new change. */
  resize(id: string, weight: number, seq: number = (this.#changes += 1)): T.ResizeReply {
    return this.apply({ op: 'resize', key, id, weight, seq, retention });
  }

  setCapacity(from: number, capacity: number): T.CapacityReply {
    return this.apply({ op: 'capacity', key, from, capacity, retention });
  }

  show(limit = 100): T.InspectReply {
    return this.apply({ op: 'inspect', key, limit });
  }

  /** Ids of the holders, ordered by fence. */
  held(): string[] {
    const holders = [...this.show(10_000).holders];
    return holders.sort((a, b) => a.fence - b.fence).map(({ id }) => id);
  }

  /** Ids of the waiters, in queue order. */
  waiting(): string[] {
    return this.show(10_000).waiters.map(({ id }) => id);
  }

  /** The pushes since the last call. */
  pushed(): string[] {
    return this.#pushes.splice(0);
  }
}
