/**
 * A client of node-redis 5.12.1 whose connection is reset while its process is busy: it may then
 * give replies to the wrong commands. Two instances work with the same locks, one on this client
 * and one on a sound client. The program sends ECHO to see by itself whether replies are wrong. It
 * does not end: calls of such a client may have no reply at all.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createClient } from 'redis-5';
import { Holdfast } from 'holdfast';

const { proxy, server, prefix, rounds, limit } = JSON.parse(process.argv[2] ?? '{}');
/** Of so many locks the sound client holds every other one; the rest is free. */
const LOCKS = 12;
const CALLERS = 40;
/** So many make a call that failed again at once: their calls shift the replies of all. */
const HASTY = 4;

const reconnectStrategy = () => 20;
const client = createClient({ socket: { host: '127.0.0.1', port: proxy, reconnectStrategy } });
client.on('error', () => undefined);
await client.connect();
const sound = new Redis({ host: '127.0.0.1', port: server });

/** @type {Set<string>} */
const warnings = new Set();
/** @type {Set<string>} */
const failures = new Set();
/** @type {Set<string>} */
const violations = new Set();
/** The last fence of each key. @type {Map<string, number>} */
const fences = new Map();
let grants = 0;
let over = false;

const options = { prefix, ttl: 20_000, requestTimeout: limit, unreachableAfter: 2 * limit };
const holdfast = new Holdfast(client, {
  ...options,
  onWarning: ({ code, message }) => warnings.add(`${code}: ${message}`),
});
const other = new Holdfast(sound, options);
const taken = [];
for (let lock = 0; lock < LOCKS; lock += 2) taken.push(await other.mutex(`k${lock}`).acquire());

/** Takes and releases locks. @param {number} from */
async function work(from) {
  for (let lock = from; !over; lock++) {
    const key = `k${lock % LOCKS}`;
    try {
      const lease = await holdfast.mutex(key).tryAcquire();
      if (lease === null) continue;
      grants += 1;
      const last = fences.get(key) ?? 0;
      if (lock % 2 === 0) violations.add(`${key} is held by another instance`);
      if (lease.fence <= last) violations.add(`${key}: the fence does not grow`);
      fences.set(key, Math.max(lease.fence, last));
      await lease.release();
    } catch (error) {
      const { code, message } = /** @type {import('../../dist/index.js').HoldfastError} */ (error);
      failures.add(`${code}: ${message}`);
      if (from >= HASTY) await sleep(100);
    }
  }
}

/** True if the client gives ECHO the reply to another command. */
async function isShifted() {
  const words = ['a', 'b', 'c'].map((word) => `echo ${word}`);
  const replies = words.map((word) => client.sendCommand(['ECHO', word]).catch(() => word));
  const echoed = await Promise.race([Promise.all(replies), sleep(100, ['no reply'])]);
  return echoed.some((reply, at) => reply !== words[at]);
}

const cell = new Int32Array(new SharedArrayBuffer(4));
async function faults() {
  let shifted = false;
  let round = 0;
  for (; round < rounds && !shifted; round++) {
    await sleep(50);
    process.send?.({ type: 'busy' });
    Atomics.wait(cell, 0, 0, 150);
    await sleep(150);
    shifted = await isShifted();
  }
  // so long the client gives replies to the wrong commands
  await sleep(1000);
  return { shifted, round };
}

for (let caller = 0; caller < CALLERS; caller++) void work(caller);
const { shifted, round } = await faults();
over = true;
process.send?.({
  type: 'done',
  ...{ shifted, round, grants, violations: [...violations], failures: [...failures] },
  warnings: [...warnings],
});
