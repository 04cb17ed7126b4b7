/** The state of the trial `dead-waiters`, and the participants of a round. */
import type { Holdfast } from 'holdfast';
import type { Server } from 'holdfast-testkit';
import type { Contender } from '../support/contenders.js';
import type { Interval } from '../support/overlaps.js';
import type { Problems } from '../support/problems.js';
import type { Random } from '../support/random.js';

/** The processes of a round, in the order of the queue; the killed and stopped ones come first. */
export interface Participants {
  readonly order: readonly Contender[];
  readonly killed: readonly Contender[];
  readonly stopped: readonly Contender[];
  /** True: the stopped processes resume at a random time. False: when the next waiter holds. */
  readonly resumesAnyTime: boolean;
}

export interface Queue {
  readonly key: string;
  readonly fair: boolean;
  readonly waiters: readonly Contender[];
}

/** In ms. */
export interface Measured {
  /** From the release to the next holder, without affected processes in between. */
  readonly ordinary: number[];
  /** The same, with dead waiters at the head of the queue. */
  readonly dead: number[];
  /** The same by the server's clock, minus a claim window for each stopped process. */
  readonly stopped: number[];
}

export interface Scenario {
  readonly holder: Holdfast;
  readonly server: Server;
  readonly claimWindow: number;
  readonly random: Random;
  readonly problems: Problems;
  readonly intervals: Interval[];
  readonly measured: Measured;
}

/** The waiters that are neither killed nor stopped. */
export function unaffected(
  { killed, stopped }: Participants,
  waiters: readonly Contender[],
): Contender[] {
  return waiters.filter((one) => !killed.includes(one) && !stopped.includes(one));
}
