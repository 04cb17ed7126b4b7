/**
 * A mutex through the small entries. A bundle of this program carries no Lua and no other lock. For
 * a server, pass `redis(client)` of `holdfast/redis` instead of `memory()`.
 */
import { HoldfastCore } from 'holdfast/core';
import { memory } from 'holdfast/memory';
import { createMutex } from 'holdfast/mutex';

const holdfast = new HoldfastCore(memory());
const account = createMutex(holdfast, 'account:42');

let balance = 1000;
await Promise.all(
  [1, 2, 3].map(async () => {
    await account.run(async () => {
      const before = balance;
      await Promise.resolve();
      balance = before - 100;
    });
  }),
);

console.log(`balance: ${balance}`);
await holdfast.close();
