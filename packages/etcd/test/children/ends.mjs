/** Listens for messages, with a lock in its hand or as a waiter, and ends without `close`. */
import { Holdfast } from 'holdfast';
import { etcd } from 'holdfast-etcd';
import { paced, until } from 'holdfast-testkit';

const [endpoints = '[]', mode] = process.argv.slice(2);
const tell = (/** @type {string} */ type) => process.send?.({ type });
const store = etcd(JSON.parse(endpoints));
const holdfast = new Holdfast(store, { ttl: paced(1000), claimWindow: 100 });
const acquired = holdfast.mutex(mode ?? '').acquire();
if (mode === 'waited') void acquired.then(() => tell('granted'));
else await acquired;
await until(() => holdfast.stats().pushes);
tell('listens');
setInterval(() => tell('listens'), 20).unref();
