/**
 * A resource that rejects stale fences. A lock alone cannot protect it: a process that is paused
 * for longer than its lease does not know that it lost the lock. The resource detects this if it
 * stores the highest fence that it has seen.
 *
 * In SQL the check is part of the write. If no row changes, the write is rejected.
 *
 *     UPDATE document SET body = $1, fence = $2 WHERE id = $3 AND fence <= $2
 *
 * In Redis the check is a script (KEYS: the document, ARGV: body, fence). Fences are safe integers,
 * which Lua numbers represent exactly.
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

  /** Returns false if a holder with a newer lease has already written. */
  write(body: string, fence: number): boolean {
    // an equal fence is accepted: one lease may write many times
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

// simulates a paused process: its lease ends, and another holder writes
await sleep(150);
await mutex.run((lease) => {
  console.log('second writes:', document.write('second', lease.fence));
});

console.log('first writes again:', document.write('late', first.fence));
console.log('the document contains:', document.body);
console.log('first release:', await first.release());
await holdfast.close();
