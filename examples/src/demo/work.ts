/** What a worker does: the part of the demo that uses Holdfast as a program would. */
import type { Holdfast, Lease } from 'holdfast';
import type { News } from './reports.js';
import type { Access } from './resource.js';
import { sleep } from './time.js';

export interface Task {
  readonly key: string;
  readonly ttl: number;
  readonly renew: boolean;
  /** Work for so many ms under the lock, or for ever; or write, wait for a word, write again. */
  readonly job: number | 'for ever' | 'two writes';
}

export interface Surroundings {
  readonly resource: Access;
  readonly tell: (news: News) => void;
  /** Resolves when the worker is told to go on. */
  readonly word: () => Promise<void>;
}

const LOOK_EVERY_MS = 40;

export async function perform(holdfast: Holdfast, task: Task, around: Surroundings): Promise<void> {
  try {
    if (task.job === 'two writes') await writeTwice(holdfast, task, around);
    else await work(holdfast, task, task.job, around);
  } catch (error) {
    around.tell({
      what: 'failed',
      message: error instanceof Error ? error.message : String(error),
    });
  }
}

/** Acts 1 and 2. */
async function work(
  holdfast: Holdfast,
  { key, ttl, renew }: Task,
  length: number | 'for ever',
  { resource, tell }: Surroundings,
): Promise<void> {
  tell({ what: 'waits' });
  await holdfast.mutex(key, { ttl, renew }).run(async (lease) => {
    using _watch = watch(lease, tell);
    await resource.enter();
    await (length === 'for ever' ? new Promise(() => undefined) : sleep(length, lease.signal));
    await resource.leave();
    tell({ what: 'releases' });
  });
  tell({ what: 'done', outcome: 'freed' });
}

/** Act 3. */
async function writeTwice(
  holdfast: Holdfast,
  { key, ttl, renew }: Task,
  { resource, tell, word }: Surroundings,
): Promise<void> {
  tell({ what: 'waits' });
  const lease = await holdfast.mutex(key, { ttl, renew }).acquire();
  using _watch = watch(lease, tell);
  const { fence } = lease;
  tell({ what: 'wrote', fence, highest: await resource.write(fence) });

  // Here a worker may stand still for longer than its lease lasts: stopped, swapped out, collecting
  // garbage. It cannot know. And it does not look before it writes again.
  await word();
  tell({ what: 'wrote', fence, highest: await resource.write(fence) });

  tell({ what: 'looked', held: lease.held, aborted: lease.signal.aborted });
  if (lease.held) tell({ what: 'releases' });
  const outcome = await lease.release();
  tell({ what: 'done', outcome: outcome === 'lost' ? 'lost' : 'freed' });
}

/** Tells of the lease, and of each renewal: they show in what remains. */
function watch(lease: Lease, tell: (news: News) => void): Disposable {
  tell({ what: 'holds', fence: lease.fence, left: lease.remaining() });
  let expected = lease.remaining();
  const timer = setInterval(() => {
    const left = lease.remaining();
    if (left > expected) tell({ what: 'renewed', left });
    expected = left;
  }, LOOK_EVERY_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
