/**
 * Calls that only look, at the keys of other tasks. They end, with a documented error if with any,
 * and the other tasks are judged as usual: a look gives no permits and takes none.
 */
import type { Holdfast } from '../../../../../packages/holdfast/dist/index.js';
import { Part, REFUSALS } from './part.js';

const CODES = [...REFUSALS, 'HOLDFAST_MISMATCH', 'HOLDFAST_UNCERTAIN'];

type Look = (holdfast: Holdfast, key: string, wait: number) => unknown;

/** Each look by the name of its method. */
export const LOOKS: Readonly<Record<string, Look>> = {
  inspect: (holdfast, key) => holdfast.inspect(key),
  list: async (holdfast) => {
    for await (const _ of holdfast.list('k*')) continue;
  },
  countLocks: (holdfast) => holdfast.count('k*'),
  stats: (holdfast) => holdfast.stats(),
  statsByKey: (holdfast) => holdfast.statsByKey(),
  id: (holdfast) => holdfast.id,
  warmUp: (holdfast) => holdfast.warmUp(),
  isLocked: (holdfast, key) => holdfast.mutex(key).isLocked(),
  timeLeft: (holdfast, key) => holdfast.mutex(key).timeLeft(),
  whenFree: (holdfast, key, wait) => holdfast.mutex(key).whenFree({ wait }),
  place: (holdfast, key) => holdfast.mutex(key).place(),
  permitsPlace: (holdfast, key) => holdfast.semaphore(key, { permits: 2 }).place(),
  sidePlace: (holdfast, key) => holdfast.rwLock(key).write.place(),
  sideLocked: (holdfast, key) => holdfast.rwLock(key).read.isLocked(),
  leader: (holdfast) => holdfast.election('lead').leader(),
  ownerHolds: (holdfast) => holdfast.ownerLocks.holds('calls', 'o1'),
  count: (holdfast) => holdfast.latch('latch', { count: 2 }).count(),
  waiting: (holdfast) => holdfast.barrier('barrier', { parties: 2 }).waiting(),
};

export class Looks extends Part {
  async perform(): Promise<void> {
    const { key, look = 'inspect', ttl } = this.task;
    try {
      await LOOKS[look]?.(this.client.holdfast, key, ttl);
    } catch (error) {
      this.expect(error, CODES);
    }
  }
}
