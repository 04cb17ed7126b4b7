/** What every child does first: it reads its setting and creates instances from it. */
import { Socket } from 'node:net';
import { Holdfast, memory } from 'holdfast';

/**
 * @typedef {{ client: string, port: number, protocol: 2 | 3, key: string, ttl?: number }} Setting
 */

/** @type {Setting} */
export const setting = JSON.parse(process.argv[2] ?? '{}');

const store = memory();
/** @type {(() => void)[]} */
const ends = [];

/**
 * An instance on its own client; `disconnect` ends that client.
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
 * Sends a message to the parent.
 * @param {string} type
 * @param {object} more
 */
export function tell(type, more = {}) {
  process.send?.({ type, ...more });
}

/** The parent's next message. The process stays alive until it arrives. */
export function told() {
  return new Promise((resolve) => {
    process.once('message', resolve);
  });
}

/** @type {Set<Socket>} Open sockets, also those that do not keep the process alive. */
const open = new Set();
/** @type {(...args: any[]) => Socket} */
const connectSocket = Reflect.get(Socket.prototype, 'connect');
/**
 * @this {Socket}
 * @param {any[]} args
 */
Socket.prototype.connect = function connect(...args) {
  open.add(this);
  this.once('close', () => open.delete(this));
  return Reflect.apply(connectSocket, this, args);
};

/**
 * Waits until `count` sockets are open. It has no time limit: the parent's test has one.
 * @param {number} count
 */
export async function socketsAre(count) {
  while (open.size !== count) {
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
