/** An event loop that stands still, and what the code that comes back from it sees first. */
import type { Lease } from 'holdfast';
import { monotonic } from '../support/overlaps.js';

/** What kind of code it is that does not end. */
export const PLACES = ['timer', 'immediate', 'microtask', 'reply'] as const;

export interface Stall {
  readonly ms: number;
  readonly place: (typeof PLACES)[number];
}

/** What was seen of one lease. */
export interface Look {
  readonly key: string;
  /** `held` in the line after the stall. */
  readonly held: boolean;
  /** `signal.aborted` in the line after that. */
  readonly aborted: boolean;
  /** `held`, a while later. */
  readonly heldLater: boolean;
}

export interface Stalled {
  readonly from: number;
  readonly to: number;
  readonly looks: readonly Look[];
}

const LATER_MS = 50;

/** Stalls, looks, and looks again. */
export async function lookAfterStall(leases: readonly Lease[], stall: Stall): Promise<Stalled> {
  await reach(stall.place, leases);
  const from = monotonic();
  const end = from + stall.ms;
  while (monotonic() < end);
  const held = leases.map((lease) => lease.held);
  const to = monotonic();
  const aborted = leases.map(({ signal }) => signal.aborted);
  await new Promise((resolve) => setTimeout(resolve, LATER_MS));
  const looks = leases.map((lease, at) => ({
    key: lease.key,
    held: held[at] as boolean,
    aborted: aborted[at] as boolean,
    heldLater: lease.held,
  }));
  return { from, to, looks };
}

/** Resolves in the phase of the event loop that is asked for. */
async function reach(place: Stall['place'], leases: readonly Lease[]): Promise<void> {
  switch (place) {
    case 'timer':
      return new Promise((resolve) => setTimeout(resolve, 1));
    case 'immediate':
      return new Promise((resolve) => setImmediate(resolve));
    case 'microtask':
      return;
    case 'reply':
      // the code that waited for an answer of the store runs while that is being read
      await leases[0]?.extend(1);
  }
}
