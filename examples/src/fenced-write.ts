/**
 * A resource that refuses stale fences. A lock alone cannot do this: a process that stood still for
 * longer than its lease lasts does not know that it holds nothing any more. The resource knows, if
 * it keeps the highest fence that it has seen.
 *
 * In SQL the check is part of the write. No row changed means: refused.
 *
 *     UPDATE document SET body = $1, fence = $2 WHERE id = $3 AND fence <= $2
 *
 * In Redis it is a script (KEYS: the document, ARGV: body, fence). Lua's numbers are exact for
 * fences, which are safe integers.
 *
 *     local seen = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
 *     if tonumber(ARGV[2]) < seen then return 0 end
 *     redis.call('HSET', KEYS[1], 'body', ARGV[1], 'fence', ARGV[2])
 *     return 1
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, memory } from 'holdfast';

class FencedDocument {
  body = '';
  #fence = 0;

  /** False if somebody with a newer lease has written already. */
  write(body: string, fence: number): boolean {
    // equal is right: one lease may write many times
    if (fence < this.#fence) return false;
    this.body = body;
    this.#fence = fence;
    return true;
  }
}

const document = new FencedDocument();
const holdfast = new Holdfast(memory());
const mutex = holdfast.mutex('document:7', { ttl: 100 });

const first = await mutex.acquire({ renew: false });
console.log('first writes:', document.write('first', first.fence));

// as if this process had stood still: its lease ends, and another holder writes
await sleep(150);
await mutex.run((lease) => {
  console.log('second writes:', document.write('second', lease.fence));
});

console.log('first writes again:', document.write('late', first.fence));
console.log('the document says:', document.body);
console.log('first was told:', await first.release());
await holdfast.close();
