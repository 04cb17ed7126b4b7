/** Closes or releases while the server is stopped. The script handles each promise that it gets. */
import { disconnect, make, setting, tell, told } from './connect.mjs';

const holdfast = await make({ ttl: 60_000, requestTimeout: 200 });
const mutex = holdfast.mutex(setting.key);
const quiet = (/** @type {Promise<unknown>} */ promise) => promise.catch(() => undefined);

const one = async (/** @type {boolean} */ fair) => {
  const lease = await mutex.acquire();
  const waiting = mutex.acquire({ fair });
  while (fair && (await holdfast.inspect(setting.key))?.waiterCount !== 1);
  return { first: lease, waiting };
};

// a fair wait opens the wake channel; the parent reports when the server knows it
const before = await one(true);
tell('waits');
await told();
await before.first.release();
await (await before.waiting).release();

const { first, waiting } = await one(false);
tell('ready');
const { end } = await told();
// from here on the server does not answer
let lease = first;
if (end === 'close') {
  void quiet(first.release());
  lease = await waiting;
} else {
  void quiet(waiting);
  void quiet(mutex.condition('c').signal(lease));
}
const parked = mutex.condition('d').await(lease);
void parked.catch((error) => tell('rejected', { code: error.code }));
if (end === 'close') await quiet(holdfast.close({ grace: 0 }));
else await quiet(lease.release());
tell('ended');
await told();
await holdfast.close({ grace: 0 });
disconnect();
