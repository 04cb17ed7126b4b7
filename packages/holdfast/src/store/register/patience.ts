/**
 * Which commands may wait for a moment, to travel with a later one in the same swap.
 *
 * While a process holds a lock and may change its state without a read, an acquisition can only be
 * queued, so it waits for an early release. The renewal that claims a lease from the queue waits
 * too, unless this process lately held the lock for longer.
 */
import type { KeyCommand } from '../../engine/commands.js';
import type { Holder } from '../../engine/entries.js';
import type { Resource } from '../../engine/resource.js';
import type { Addressed } from '../../engine/serve.js';
import type { Successor } from './peers.js';

/** In ms. */
export const RIDE_MS = 5;
/** A renewal waits for the next release after so many early ones. */
const SOON_MIN = 3;

export class Patience {
  /** Early releases in a row, each after a renewal. */
  #soon = SOON_MIN;
  #renewedAt = Number.NEGATIVE_INFINITY;

  note(command: KeyCommand, now: number): void {
    const { op } = command;
    if (op === 'renew') this.#renewedAt = now;
    if (op !== 'release' || yields(command)) return;
    this.#soon = now - this.#renewedAt <= 2 * RIDE_MS ? this.#soon + 1 : 0;
  }

  waited(commands: readonly KeyCommand[]): void {
    if (commands.some(({ op }) => op === 'renew')) this.#soon = 0;
  }

  mayWait(command: KeyCommand): boolean {
    if (canWait(command)) return true;
    return command.op === 'renew' && this.#soon >= SOON_MIN;
  }
}

export function canQueue(command: KeyCommand): boolean {
  return command.op === 'acquire' && command.queue && command.owner === '';
}

/** One holder has all permits, and others wait by the queue. */
export function isTaken(resource: Resource | undefined): boolean {
  if (resource === undefined || resource.holders.size !== 1) return false;
  return resource.used >= resource.capacity;
}

export function isFree(resource: Resource | undefined): boolean {
  return resource === undefined || resource.holders.size + resource.queue.size === 0;
}

/** The only holder's process, which will probably change the key next. */
export function successorOf(
  resource: Resource | undefined,
  pushes: readonly Addressed[],
): Successor | undefined {
  if (resource === undefined || resource.holders.size !== 1) return undefined;
  const [{ id, channel }] = resource.holders.values() as Iterable<Holder> as [Holder];
  if (channel === '') return undefined;
  const grant = pushes.find(({ push }) => push.kind === 'grant' && push.id === id)?.push;
  return { channel, token: grant?.kind === 'grant' ? grant.token : undefined };
}

/**
 * Whether the command lets a process pass that is about to change the key. A poll that asks for a
 * lease does not: the lease may be in doubt.
 */
export function yields(command: KeyCommand): boolean {
  if (command.op === 'poll') return command.patience > 0;
  return command.op === 'acquire' || (command.op === 'release' && command.unhurried === true);
}

/** True if it may be applied a little later, by any process. */
export function canWait(command: KeyCommand): boolean {
  return command.op === 'acquire' ? canQueue(command) : yields(command);
}

const URGENT: ReadonlySet<KeyCommand['op']> = new Set([
  ...(['release', 'turn', 'renew', 'forceRelease', 'park', 'signal', 'endGeneration'] as const),
]);

/** True if commands let others proceed, or belong to the waiter at the queue's head. */
export function isUrgent(commands: readonly KeyCommand[], head: string | undefined): boolean {
  return commands.some((one) => {
    return (URGENT.has(one.op) && !yields(one)) || ('id' in one && one.id === head);
  });
}
