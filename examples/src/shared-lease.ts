/**
 * One lease shared under a name: an acquisition with the same name joins the lease, also from
 * another process or machine. In this example a workflow locks an order, and a step of the same
 * workflow locks it again.
 */
import { Holdfast, memory } from 'holdfast';

const store = memory();
// these two instances stand for two services
const orders = new Holdfast(store, { label: 'orders' });
const billing = new Holdfast(store, { label: 'billing' });
const key = 'order:1';

const outer = await orders.mutex(key, { sharedBy: 'workflow:9' }).acquire();
const inner = await billing.mutex(key, { sharedBy: 'workflow:9' }).acquire();
console.log(`acquired again: hold ${inner.holds}, same fence: ${inner.fence === outer.fence}`);

const other = await billing.mutex(key, { sharedBy: 'workflow:10' }).tryAcquire();
console.log(`another name acquires: ${other !== null}`);

console.log(`inner release: ${await inner.release()}`);
console.log(`outer release: ${await outer.release()}`);
await Promise.all([orders.close(), billing.close()]);
