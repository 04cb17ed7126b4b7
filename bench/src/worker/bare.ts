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
/** Extends the keys that still contain the tokens of their holder. */
const EXTEND = `for i, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[i + 1] then redis.call('PEXPIRE', key, ARGV[1]) end
end
return 0`;
const shaOf = (script: string): string => createHash('sha1').update(script).digest('hex');
const SHA = shaOf(COMPARE_AND_DELETE);
const EXTEND_SHA = shaOf(EXTEND);
/** The keys of one script. */
const AT_ONCE = 500;

interface Commands {
  set(key: string, token: string): Promise<boolean>;
  remove(key: string, token: string): Promise<unknown>;
  extend(keys: string[], args: string[]): Promise<unknown>;
}

export async function openBare({ variant, port, ttl }: Given): Promise<Library> {
  const connected = await connect(variant.client as ClientName, port);
  const commands = await commandsOf(connected, ttl);
  let count = 0;
  return {
    acquire: async (key) => {
      const token = `token-of-22-characters.${process.pid}.${count++}`;
      while (!(await commands.set(key, token))) await pause();
      return { key, token, release: () => commands.remove(key, token) };
    },
    renew: async (held) => {
      for (let at = 0; at < held.length; at += AT_ONCE) {
        const some = held.slice(at, at + AT_ONCE);
        const keys = some.map((one) => one.key as string);
        const args = [`${ttl}`, ...some.map((one) => one.token as string)];
        await commands.extend(keys, args);
      }
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
    await client.script('LOAD', EXTEND);
    return {
      set: async (key, token) => (await client.set(key, token, 'PX', ttl, 'NX')) === 'OK',
      remove: (key, token) => client.evalsha(SHA, 1, key, token),
      extend: (keys, args) => client.evalsha(EXTEND_SHA, keys.length, ...keys, ...args),
    };
  }
  const { client } = connected;
  await client.scriptLoad(COMPARE_AND_DELETE);
  await client.scriptLoad(EXTEND);
  const options = { condition: 'NX', expiration: { type: 'PX', value: ttl } };
  return {
    set: async (key, token) => (await client.set(key, token, options)) === 'OK',
    remove: (key, token) => client.evalSha(SHA, { keys: [key], arguments: [token] }),
    extend: (keys, args) => client.evalSha(EXTEND_SHA, { keys, arguments: args }),
  };
}
