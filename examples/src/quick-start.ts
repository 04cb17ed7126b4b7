/** The shortest use. For a server, pass an ioredis or node-redis client instead of `memory()`. */
import { Holdfast, memory } from 'holdfast';

const holdfast = new Holdfast(memory());

const balance = await holdfast.mutex('account:42').run(async (lease) => {
  // mutual exclusion across all processes that use the same server; the lease is renewed meanwhile
  return withdraw(100, lease.signal);
});

console.log(`balance: ${balance}`);
await holdfast.close();

async function withdraw(amount: number, signal: AbortSignal): Promise<number> {
  // stops long work when the lock is lost
  signal.throwIfAborted();
  return 1000 - amount;
}
