/**
 * Acquires a lease with a copy of the compiled library, moves the copy away, and goes on: an update
 * may replace the files of a process that runs.
 */
import { renameSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

const { port, key, copy } = JSON.parse(process.argv[2] ?? '{}');
/** @type {typeof import('../../dist/index.js')} */
const { Holdfast } = await import(`${copy}index.js`);
const client = new Redis({ host: '127.0.0.1', port });
// each renewal is worth a warning, whose text is loaded with the first of them
const options = { ttl: 2000, longHold: 1, onWarning: () => undefined };
const holdfast = new Holdfast(client, options);

/** Waits until leases were renewed `more` times. @param {number} more */
async function renewed(more) {
  const from = holdfast.stats().renewals;
  while (holdfast.stats().renewals < from + more) await sleep(5);
}

const lease = await holdfast.mutex(key).acquire();
renameSync(new URL(copy), new URL('../moved', copy));
await renewed(1);
await client.script('FLUSH');
await renewed(2);
const released = await lease.release();
const next = await holdfast.mutex(key).acquire();
/** @type {Promise<string>} */
const lost = new Promise((resolve) => {
  next.signal.addEventListener('abort', () => resolve(next.signal.reason.code));
});
await client.flushall();
const loss = await lost;
const all = await holdfast.allOf([key, `${key}-other`]).acquire();
const calls = {
  allOf: await all.release(),
  latch: await holdfast.latch(`${key}-latch`, { count: 1 }).countDown(),
  schedule: (await holdfast.schedule(`${key}-schedule`, { atLeast: 0 }).runOnce(() => 1)).ran,
  forceRelease: await holdfast.forceRelease(`${key}-free`),
  list: (await holdfast.list().next()).done !== undefined,
  health: (await holdfast.health()).status,
};
/** @type {string} */
const notLoaded = await import(`${copy}memory.js`).catch(({ code }) => code);
process.send?.({ type: 'done', released, loss, calls, notLoaded });
await holdfast.close({ grace: 0 });
client.disconnect();
