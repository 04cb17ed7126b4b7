/** A simulated server of a quorum: the acceptor of the library, a clock, and its condition. */
import type { Clock, Timer } from '../../../../packages/holdfast/dist/base/clock.js';
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

/** The name of the marker of a process's prefix. */
export type MarkerName = string;

export class Node {
  readonly server: memory.MemoryAcceptor;
  readonly #acceptors = new Map<MarkerName, memory.MemoryAcceptor>();
  readonly #open: (marker: MarkerName) => memory.MemoryAcceptor;
  /** Until this time it answers nothing; requests wait. */
  frozenUntil = 0;
  /** Until this time messages from and to it are lost. */
  cutUntil = 0;
  /** True if it restarted, and does not vote yet because it has lost its memory. */
  #weak = false;

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
    this.#open = (marker) => {
      const server = new library.MemoryAcceptor(`s${at}`, clock, UPTIME, [this.server, marker]);
      const accept: Accept = server.accept.bind(server);
      server.accept = async (key, proposal): Promise<Vote> => {
        const vote = await accept(key, proposal);
        if (vote.status === 'yes') accepted(at, key, proposal.ballot, proposal.value);
        return vote;
      };
      return server;
    };
  }

  /** The acceptor of a prefix. */
  acceptor(marker: MarkerName): memory.MemoryAcceptor {
    const acceptor = this.#acceptors.get(marker) ?? this.#open(marker);
    this.#acceptors.set(marker, acceptor);
    return acceptor;
  }

  /** Restarts the server. Unless it keeps its memory, it does not vote until it may. */
  restart(memory: 'keeps' | 'saved' | 'loses', durable: boolean): void {
    this.server.restart(memory);
    this.#weak = !durable;
  }

  /** Its keys are deleted. */
  empty(): void {
    this.server.empty();
    this.#weak = true;
  }

  /**
   * True while it has lost its memory and does not vote.
   * @param time of the servers, in µs
   */
  weak(time: number): boolean {
    if (this.#weak) this.#weak = ![...this.#acceptors.values()].every((one) => one.votes(time));
    return this.#weak;
  }

  /** True if it is without its memory, or its clock is wrong. */
  faulty(time: number): boolean {
    return this.weak(time) || this.server.offset !== 0;
  }

  /** True if it votes for a key. */
  async votesFor(prefix: string, key: string, time: number): Promise<boolean> {
    const markers = [...this.#acceptors].filter(([marker]) => marker.startsWith(prefix));
    const votes = await Promise.all(markers.map(([, one]) => one.look(key, time)));
    return votes.length > 0 && votes.every(({ status }) => status === 'yes');
  }

  /** True if it does not answer. */
  silent(now: number): boolean {
    return Math.max(this.frozenUntil, this.cutUntil) > now;
  }
}
