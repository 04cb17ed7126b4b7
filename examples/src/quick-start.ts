/** The shortest use. Embedded: put an ioredis or node-redis client where `memory()` stands. */
import { Holdfast, memory } from 'holdfast';

const holdfast = new Holdfast(memory());

const balance = await holdfast.mutex('account:42').run(async (lease) => {
  // alone here, across all processes that use the same server; renewed for as long as it takes
  return withdraw(100, lease.signal);
});

console.log(`balance: ${balance}`);
await holdfast.close();

async function withdraw(amount: number, signal: AbortSignal): Promise<number> {
  // long work stops when the lock is lost
  signal.throwIfAborted();
  return 1000 - amount;
}
