/** A simulated server of a quorum: the acceptor of the library, a clock, and its condition. */
import type { Clock, Timer } from '../../../../packages/holdfast/dist/clock.js';
import type { Acceptor, Vote } from '../../../../packages/holdfast/dist/store/quorum/acceptor.js';
import type * as memory from '../../../../packages/holdfast/dist/store/quorum/memory-acceptor.js';
import type { Scheduler } from '../base/scheduler.js';
import { Machine } from '../world/machine.js';
import type { QuorumLibrary } from './library.js';

type Accept = Acceptor['accept'];

/** The wall clock of all servers when a simulation begins, in ms. */
export const EPOCH = 1_700_000_000_000;
/** The servers have been running for this long, in ms. */
const UPTIME = 3_600_000;

/** Called after a server accepted a value. */
export type Accepted = (server: number, key: string, ballot: string, value: string) => void;

class NodeClock implements Clock {
  readonly #machine: Machine;
  readonly #scheduler: Scheduler;

  constructor(machine: Machine, scheduler: Scheduler) {
    this.#machine = machine;
    this.#scheduler = scheduler;
  }

  now(): number {
    return this.#machine.mono(this.#scheduler.now);
  }

  wall(): number {
    return EPOCH + this.now();
  }

  after(ms: number, callback: () => void): Timer {
    return this.#scheduler.after(ms, callback);
  }
}

export class Node {
  readonly server: memory.MemoryAcceptor;
  /** Until this time it answers nothing; requests wait. */
  frozenUntil = 0;
  /** Until this time messages from and to it are lost. */
  cutUntil = 0;
  /** Until this time it does not vote, because it has lost its memory. */
  weakUntil = 0;

  /** @param rate milliseconds of its clock per true millisecond */
  constructor(
    at: number,
    rate: number,
    library: QuorumLibrary,
    scheduler: Scheduler,
    accepted: Accepted,
  ) {
    const clock = new NodeClock(new Machine(`s${at}`, rate, 0, 0), scheduler);
    this.server = new library.MemoryAcceptor(`s${at}`, clock, UPTIME);
    const accept: Accept = this.server.accept.bind(this.server);
    this.server.accept = async (key, proposal): Promise<Vote> => {
      const vote = await accept(key, proposal);
      if (vote.status === 'yes') accepted(at, key, proposal.ballot, proposal.value);
      return vote;
    };
  }

  failed(now: number): boolean {
    return Math.max(this.frozenUntil, this.cutUntil, this.weakUntil) > now;
  }
}
