/** The task of a worker: the part of the demo that uses Holdfast as an application would. */
import type { Holdfast, Lease } from 'holdfast';
import type { ReportBody } from './reports.js';
import type { Access } from './resource.js';
import { sleep } from './time.js';

export interface Task {
  readonly key: string;
  readonly ttl: number;
  readonly renew: boolean;
  /**
   * A number: work for that many ms under the lock. `forever`: never release. `two writes`: write,
   * wait for `untilProceed`, write again.
   */
  readonly job: number | 'forever' | 'two writes';
}

export interface TaskContext {
  readonly resource: Access;
  readonly report: (body: ReportBody) => void;
  /** Resolves when the demo tells the worker to continue. */
  readonly untilProceed: () => Promise<void>;
}

const SAMPLE_MS = 40;

export async function runTask(holdfast: Holdfast, task: Task, context: TaskContext): Promise<void> {
  try {
    if (task.job === 'two writes') await writeTwice(holdfast, task, context);
    else await work(holdfast, task, task.job, context);
  } catch (error) {
    context.report({
      what: 'failed',
      message: error instanceof Error ? error.message : String(error),
    });
  }
}

/** The task of scenarios 1 and 2. */
async function work(
  holdfast: Holdfast,
  { key, ttl, renew }: Task,
  length: number | 'forever',
  { resource, report }: TaskContext,
): Promise<void> {
  report({ what: 'waits' });
  await holdfast.mutex(key, { ttl, renew }).run(async (lease) => {
    using _reporting = reportLease(lease, report);
    await resource.enter();
    await (length === 'forever' ? new Promise(() => undefined) : sleep(length, lease.signal));
    await resource.leave();
    report({ what: 'releases' });
  });
  report({ what: 'done', outcome: 'freed' });
}

/** The task of scenario 3. */
async function writeTwice(
  holdfast: Holdfast,
  { key, ttl, renew }: Task,
  { resource, report, untilProceed }: TaskContext,
): Promise<void> {
  report({ what: 'waits' });
  const lease = await holdfast.mutex(key, { ttl, renew }).acquire();
  using _reporting = reportLease(lease, report);
  const { fence } = lease;
  report({ what: 'wrote', fence, highest: await resource.write(fence) });

  // Here a worker may pause for longer than its lease (SIGSTOP, swapping, garbage collection)
  // without noticing. On purpose, it does not check the lease before it writes again.
  await untilProceed();
  report({ what: 'wrote', fence, highest: await resource.write(fence) });

  report({ what: 'looked', held: lease.held, aborted: lease.signal.aborted });
  if (lease.held) report({ what: 'releases' });
  const outcome = await lease.release();
  report({ what: 'done', outcome: outcome === 'lost' ? 'lost' : 'freed' });
}

/** Reports the lease and each renewal. A renewal is detected by a longer remaining time. */
function reportLease(lease: Lease, report: (body: ReportBody) => void): Disposable {
  report({ what: 'holds', fence: lease.fence, remaining: lease.remaining });
  let expected = lease.remaining;
  const timer = setInterval(() => {
    const remaining = lease.remaining;
    if (remaining > expected) report({ what: 'renewed', remaining });
    expected = remaining;
  }, SAMPLE_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
