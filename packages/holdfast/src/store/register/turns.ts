/** Reads and swaps of one turn are one `readMany` and one `swapMany`. None waits for another. */
import { Collector } from './collector.js';
import type { PeerChange, PeerRegister, PeerSwapped, PeerVersioned } from './peers.js';
import type { Swap } from './register.js';

export interface Turns extends Pick<PeerRegister, 'read' | 'swap'> {
  /** As `read`, if the register cannot overtake. */
  readonly overtake: (key: string) => Promise<PeerVersioned>;
}

export function turnsOf(register: PeerRegister): Turns {
  const read = (key: string): Promise<PeerVersioned> => register.read(key);
  const swap = ({ key, version, change }: Swap): Promise<PeerSwapped> =>
    register.swap(key, version, change as PeerChange);
  const reads =
    register.readMany && collect(read, async (keys) => (await register.readMany?.(keys)) ?? []);
  const swaps =
    register.swapMany && collect(swap, async (all) => (await register.swapMany?.(all)) ?? []);
  return {
    overtake: (key) => register.overtake?.(key) ?? read(key),
    read: reads ?? read,
    swap: swaps
      ? (key, version, change) => swaps({ key, version, change })
      : (key, version, change) => register.swap(key, version, change),
  };
}

function collect<Q, A>(
  one: (question: Q) => Promise<A>,
  many: (questions: readonly Q[]) => Promise<readonly A[]>,
): (question: Q) => Promise<A> {
  const run = async (batch: readonly Q[]): Promise<readonly A[]> =>
    batch.length === 1 ? [await one(batch[0] as Q)] : many(batch);
  const collector = new Collector<Q, A>(run, { overlaps: true });
  return (question) => collector.add(question);
}
