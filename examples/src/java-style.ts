/**
 * Locks without a lease object, for code ported from Java: each call takes a key, an owner and an
 * expiry. One service acquires the lock for a job, and another service releases it.
 */
import { Holdfast, memory } from 'holdfast';

const store = memory();
// these two instances stand for two services
const intake = new Holdfast(store);
const worker = new Holdfast(store);
const key = 'order:7';

await intake.ownerLocks.lock(key, 'job:31', 30_000);
await worker.ownerLocks.lock(key, 'job:31', 30_000);
console.log(`holds of job:31: ${await intake.ownerLocks.holds(key, 'job:31')}`);

const refused = (await worker.ownerLocks.tryLock(key, 'job:32', 30_000)) === null;
const renewed = await worker.ownerLocks.renew(key, 'job:32', 1000);
console.log(`job:32 is refused: ${refused}; job:32 renews: ${renewed}`);

await intake.close();
console.log(
  `renewed by the other service: ${await worker.ownerLocks.renew(key, 'job:31', 60_000)}`,
);
console.log(`first unlock: ${await worker.ownerLocks.unlock(key, 'job:31')}`);
console.log(`second unlock: ${await worker.ownerLocks.unlock(key, 'job:31')}`);
console.log(`third unlock: ${await worker.ownerLocks.unlock(key, 'job:31')}`);
await worker.close();
