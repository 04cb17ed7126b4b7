/**
 * Reentrancy by an owner that is named: who holds already enters again, also from another process
 * or machine. Here an order is locked by its workflow, and a step of that workflow locks it too.
 */
import { Holdfast, memory } from 'holdfast';

const store = memory();
// as if these were two services
const orders = new Holdfast(store, { label: 'orders' });
const billing = new Holdfast(store, { label: 'billing' });
const key = 'order:1';

const outer = await orders.mutex(key, { owner: 'workflow:9' }).acquire();
const inner = await billing.mutex(key, { owner: 'workflow:9' }).acquire();
console.log(`entered again: hold ${inner.holds}, same fence: ${inner.fence === outer.fence}`);

const stranger = await billing.mutex(key, { owner: 'workflow:10' }).tryAcquire();
console.log(`another owner enters: ${stranger !== null}`);

console.log(`inner release: ${await inner.release()}`);
console.log(`outer release: ${await outer.release()}`);
await Promise.all([orders.close(), billing.close()]);
