/**
 * A transfer locks two accounts together. Transfers in opposite directions name the accounts in
 * opposite orders, and do not deadlock.
 */
import { Holdfast, memory } from 'holdfast';

const holdfast = new Holdfast(memory());
const balances = new Map([
  ['account:3', 100],
  ['account:7', 100],
]);

async function transfer(from: string, to: string, amount: number): Promise<void> {
  await holdfast.allOf([from, to]).run(async (lease) => {
    const [paid, got] = [balances.get(from) ?? 0, balances.get(to) ?? 0];
    // yields to the event loop: without the lock, another transfer would overwrite a balance here
    await new Promise((resolve) => setImmediate(resolve));
    lease.assertHeld();
    balances.set(from, paid - amount).set(to, got + amount);
  });
}

const there = Array.from({ length: 20 }, () => transfer('account:3', 'account:7', 2));
const back = Array.from({ length: 10 }, () => transfer('account:7', 'account:3', 1));
await Promise.all([...there, ...back]);
console.log(`account:3 has ${balances.get('account:3')}, account:7 ${balances.get('account:7')}`);

const single = await holdfast.mutex('account:7').acquire();
const refused = await holdfast.allOf(['account:3', 'account:7']).tryAcquire();
console.log(`both while one is taken: ${refused === null ? 'refused' : 'granted'}`);
await single.release();
await holdfast.close();
