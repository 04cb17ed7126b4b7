/** What every child does first: reads its setting, and makes instances as it says. */
import { Holdfast, memory } from '../../dist/index.js';

/** @typedef {{ client: string, port: number, protocol: 2 | 3, key: string }} Setting */

/** @type {Setting} */
export const setting = JSON.parse(process.argv[2] ?? '{}');

const store = memory();
/** @type {(() => void)[]} */
const ends = [];

/**
 * An instance on a client of its own, which `disconnect` ends.
 * @param {import('../../dist/index.js').HoldfastOptions} options
 */
export async function make(options = {}) {
  if (setting.client === 'memory') return new Holdfast(store, options);
  return new Holdfast(await connect(setting), options);
}

/** Ends all clients. */
export function disconnect() {
  for (const end of ends) end();
}

/**
 * Says something to the parent.
 * @param {string} type
 * @param {object} more
 */
export function tell(type, more = {}) {
  process.send?.({ type, ...more });
}

/** The next word of the parent. The process stays for it. */
export function told() {
  return new Promise((resolve) => {
    process.once('message', resolve);
  });
}

/** How many sockets are open, this process's pipes not counted. */
export function sockets() {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;
}

/**
 * Waits until so many sockets are open. Without end if it never comes to that: the parent notices.
 * @param {number} count
 */
export async function socketsAre(count) {
  while (sockets() !== count) {
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}

/** @param {Setting} setting */
async function connect({ client: kind, port, protocol }) {
  const host = '127.0.0.1';
  if (kind.startsWith('ioredis')) {
    const { Redis } = await import(kind === 'ioredis-5' ? 'ioredis-5' : 'ioredis');
    const client = new Redis({ host, port, ...(kind === 'ioredis-6' ? { protocol } : {}) });
    ends.push(() => client.disconnect());
    return client;
  }
  const { createClient } = await import(kind === 'node-redis-5' ? 'redis-5' : 'redis');
  const client = createClient({ socket: { host, port }, RESP: protocol });
  await client.connect();
  ends.push(() => client.destroy());
  return client;
}
