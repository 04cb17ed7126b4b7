/**
 * The bare lock: `SET NX PX`, and a script that deletes the key if it still contains the holder's
 * token. It polls while the lock is taken.
 */
import { createHash } from 'node:crypto';
import type { ClientName } from '../variants.js';
import { connect, disconnect } from './clients.js';
import { type Given, type Library, POLL_MS } from './library.js';

const COMPARE_AND_DELETE = `if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`;
const SHA = createHash('sha1').update(COMPARE_AND_DELETE).digest('hex');

interface Commands {
  set(key: string, token: string): Promise<boolean>;
  remove(key: string, token: string): Promise<unknown>;
}

export async function openBare({ variant, port, ttl }: Given): Promise<Library> {
  const connected = await connect(variant.client as ClientName, port);
  const commands = await commandsOf(connected, ttl);
  let count = 0;
  return {
    acquire: async (key) => {
      const token = `token-of-22-characters.${process.pid}.${count++}`;
      while (!(await commands.set(key, token))) await pause();
      return { release: () => commands.remove(key, token) };
    },
    close: async () => disconnect(connected),
  };
}

/** Random, so that pollers do not poll in step. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS * (0.5 + Math.random())));
}

async function commandsOf(
  connected: Awaited<ReturnType<typeof connect>>,
  ttl: number,
): Promise<Commands> {
  if (connected.family === 'ioredis') {
    const { client } = connected;
    await client.script('LOAD', COMPARE_AND_DELETE);
    return {
      set: async (key, token) => (await client.set(key, token, 'PX', ttl, 'NX')) === 'OK',
      remove: (key, token) => client.evalsha(SHA, 1, key, token),
    };
  }
  const { client } = connected;
  await client.scriptLoad(COMPARE_AND_DELETE);
  const options = { condition: 'NX', expiration: { type: 'PX', value: ttl } };
  return {
    set: async (key, token) => (await client.set(key, token, options)) === 'OK',
    remove: (key, token) => client.evalSha(SHA, { keys: [key], arguments: [token] }),
  };
}
