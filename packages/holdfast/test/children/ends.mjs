/** Listens for messages, with a lock in its hand or as a waiter, and ends without `close`. */
import { Holdfast } from 'holdfast';
import { paced, until } from 'holdfast-testkit';

const { program, key, waits } = JSON.parse(process.argv[2] ?? '');
const [name, make, ...args] = program;
const tell = (/** @type {string} */ type) => process.send?.({ type });
const store = (await import(name))[make](...args);
const holdfast = new Holdfast(store, { ttl: waits ? 60_000 : paced(1000), claimWindow: 100 });
const acquired = holdfast.mutex(key).acquire();
if (waits) void acquired.then(() => tell('granted'));
else await acquired;
await until(() => holdfast.stats().pushes);
tell('listens');
setInterval(() => tell('listens'), 20).unref();
