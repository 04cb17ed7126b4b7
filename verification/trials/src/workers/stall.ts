/** Blocks the event loop, and reads the state of the leases directly afterwards. */
import type { Lease } from 'holdfast';
import { stall as block } from 'holdfast-testkit';
import { monotonic } from '../support/overlaps.js';

/** The kinds of callback that block. */
export const PLACES = ['timer', 'immediate', 'microtask', 'reply'] as const;

export interface Stall {
  /** In ms. It is at least as long as the leases last. */
  readonly ms: number;
  readonly place: (typeof PLACES)[number];
  /** The leases are renewed for so many ms just before, so no renewal is on its way; 0: not. */
  readonly renewed: number;
}

/** The observation of one lease. */
export interface Observation {
  readonly key: string;
  /** `held` directly after the stall. */
  readonly held: boolean;
  /** `signal.aborted`, read after `held`. */
  readonly aborted: boolean;
  /** `held`, some ms later. */
  readonly heldLater: boolean;
  readonly abortedLater: boolean;
}

export interface Stalled {
  readonly from: number;
  readonly to: number;
  readonly observations: readonly Observation[];
}

const LATER_MS = 50;

/** Blocks the event loop, observes the leases, and observes them again later. */
export async function observeStall(leases: readonly Lease[], stall: Stall): Promise<Stalled> {
  await begin(leases, stall);
  // an extension whose answer was slow asks for more than its ms
  const longest = Math.max(...leases.map(({ remaining }) => remaining));
  const from = monotonic();
  block(Math.max(stall.ms, longest + 1));
  const held = leases.map((lease) => lease.held);
  const to = monotonic();
  const aborted = leases.map(({ signal }) => signal.aborted);
  await new Promise((resolve) => setTimeout(resolve, LATER_MS));
  const observations = leases.map((lease, at) => ({
    key: lease.key,
    held: held[at] as boolean,
    aborted: aborted[at] as boolean,
    heldLater: lease.held,
    abortedLater: lease.signal.aborted,
  }));
  return { from, to, observations };
}

/** A lease is renewed for the first time after more than a third of its ttl. */
async function begin(leases: readonly Lease[], { place, renewed }: Stall): Promise<void> {
  for (;;) {
    const start = monotonic();
    if (renewed > 0) await Promise.all(leases.map((lease) => lease.extend(renewed)));
    await reach(place, leases);
    if (renewed === 0 || monotonic() - start < renewed / 3) return;
  }
}

/** Resolves in the given phase of the event loop. */
async function reach(place: Stall['place'], leases: readonly Lease[]): Promise<void> {
  switch (place) {
    case 'timer':
      return new Promise((resolve) => setTimeout(resolve, 1));
    case 'immediate':
      return new Promise((resolve) => setImmediate(resolve));
    case 'microtask':
      return;
    case 'reply':
      // the continuation of a store request runs while the reply is being read
      await leases[0]?.extend(1);
  }
}
