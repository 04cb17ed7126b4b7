/**
 * Locks without a lease object, as code ported from Java wants them: key, owner and expiry. One
 * service locks for a job, another unlocks for it.
 */
import { Holdfast, memory } from 'holdfast';

const store = memory();
// as if these were two services
const intake = new Holdfast(store);
const worker = new Holdfast(store);
const key = 'order:7';

await intake.calls.lock(key, 'job:31', 30_000);
await worker.calls.lock(key, 'job:31', 30_000);
console.log(`holds of job:31: ${await intake.calls.holds(key, 'job:31')}`);

const refused = (await worker.calls.tryLock(key, 'job:32', 30_000)) === null;
console.log(
  `job:32 is refused: ${refused}; may it renew: ${await worker.calls.renew(key, 'job:32', 1000)}`,
);

await intake.close();
console.log(`renewed by the other: ${await worker.calls.renew(key, 'job:31', 60_000)}`);
console.log(`unlocked: ${await worker.calls.unlock(key, 'job:31')}`);
console.log(`and again: ${await worker.calls.unlock(key, 'job:31')}`);
console.log(`once more: ${await worker.calls.unlock(key, 'job:31')}`);
await worker.close();
