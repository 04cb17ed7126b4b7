/**
 * A transaction of the program, on PostgreSQL, that keeps its lock until it ends: also when the
 * lease ends before. The hold before a commit counts if the commit has succeeded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from 'holdfast';
import { stall } from 'holdfast-testkit';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, type Random } from 'holdfast-trials/support/random';
import { GUARDED } from '../../settings.js';
import { Attempt, leaseView } from '../attempt.js';
import type { Workload } from '../workload.js';

export async function guarded(workload: Workload, random: Random): Promise<void> {
  // a lease that ends by `maxHold` goes on to the next task of its process
  const { maxHold: _, renew, ...drawn } = workload.drawLockOptions(random);
  const lockOptions = { ...drawn, renew: renew && random() < 0.5 };
  const one = workload.holdfast.mutex(GUARDED, lockOptions);
  const attempt = new Attempt(workload, { k: GUARDED, fair: lockOptions.fair });
  let lease: Lease | undefined;
  const acquiring = one.acquire(workload.limits(random)).then((granted) => {
    lease = granted;
    return leaseView(granted);
  });
  if ((await attempt.granted(acquiring)) && lease !== undefined) {
    const t = await committed(workload, lease, random).catch(() => undefined);
    if (t !== undefined) workload.note({ e: 'hold', k: GUARDED, a: attempt.a }, t);
  }
  if (attempt.lease !== undefined) await attempt.release();
}

/** Resolves to the time before the commit; `undefined` if that did not succeed. */
async function committed(
  workload: Workload,
  lease: Lease,
  random: Random,
): Promise<number | undefined> {
  const { pool } = workload.access;
  const { guard } = await workload.library.postgres();
  const client = await pool?.connect();
  let done = false;
  try {
    await client?.query('BEGIN');
    if (client !== undefined) await guard(lease, client);
    const ms = random() < 0.3 ? between(random, 0, 2 * workload.terms.ttl) : between(random, 0, 20);
    if (random() < 0.2) stall(ms);
    else await sleep(ms);
    const t = monotonic();
    const ended = await client?.query('COMMIT');
    done = ended?.command === 'COMMIT';
    return done ? t : undefined;
  } finally {
    client?.release(!done);
  }
}
