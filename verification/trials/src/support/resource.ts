/**
 * The protected resource: a register in a separate database, over a separate connection. It refuses
 * a write with a fence below the highest one that it has seen. It is independent of the lock.
 */
import { Redis } from 'ioredis';

// the fence is stored as text: Lua would format the number with an exponent
const WRITE = `local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local fence = tonumber(ARGV[1])
if fence < last or (fence == last and ARGV[2] == 'new') then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`;

export class Resource {
  readonly #redis: Redis;

  /** @param url of a Redis database that is used for nothing else */
  constructor(url: string) {
    this.#redis = new Redis(url);
    this.#redis.on('error', () => undefined);
  }

  /** The first write of a lease: its fence must be above all fences seen. */
  enter(key: string, fence: number): Promise<boolean> {
    return this.#write(key, fence, 'new');
  }

  /** A further write of the same lease: accepted until a newer lease has written. */
  write(key: string, fence: number): Promise<boolean> {
    return this.#write(key, fence, 'same');
  }

  close(): void {
    this.#redis.disconnect();
  }

  async #write(key: string, fence: number, kind: string): Promise<boolean> {
    return (await this.#redis.eval(WRITE, 1, `resource:${key}`, fence, kind)) === 1;
  }
}
