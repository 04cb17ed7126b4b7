/** One interface for the locks of all tasks. */
import type { AcquireOptions, Holdfast, Lease } from '../../../../packages/holdfast/dist/index.js';
import type { TaskPlan } from '../plan/plan.js';

export interface Lock {
  acquire(options: AcquireOptions): Promise<Lease>;
  tryAcquire(options: AcquireOptions): Promise<Lease | null>;
  run(work: (lease?: Lease) => Promise<void>, options?: AcquireOptions): Promise<void>;
}

export function lockOf(holdfast: Holdfast, task: TaskPlan): Lock {
  const { primitive, key, weight, capacity, how } = task;
  switch (primitive) {
    case 'mutex':
      return holdfast.mutex(key, { reentrant: how === 'reenter' });
    case 'read':
      return holdfast.rwLock(key).read;
    case 'write':
      return holdfast.rwLock(key).write;
    case 'consume':
    case 'produce':
    case 'settle':
    case 'latch':
    case 'count':
    case 'barrier':
    case 'shift':
    case 'resize':
    case 'all':
    case 'lead':
    case 'schedule':
    case 'calls':
    case 'sprint':
    case 'crowd':
    case 'shared':
    case 'fleet':
    case 'turns':
    case 'kinds':
    case 'sharer':
    case 'forced':
    case 'look':
    case 'flight':
      return holdfast.mutex(key);
    case 'permits': {
      const semaphore = holdfast.semaphore(key, { permits: capacity });
      return {
        acquire: (options) => semaphore.acquire(weight, options),
        tryAcquire: (options) => semaphore.tryAcquire(weight, options),
        run: (work, options) => semaphore.run(work, { ...options, permits: weight }),
      };
    }
  }
}
