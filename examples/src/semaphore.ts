/**
 * At most three downloads at a time, across all processes; a large download takes two permits. For
 * a server, replace `memory()` by a Redis client.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, memory } from 'holdfast';

const holdfast = new Holdfast(memory());
const semaphore = holdfast.semaphore('downloads', { permits: 3 });
let busy = 0;

async function download(name: string, permits: number): Promise<void> {
  await semaphore.run(
    async (lease) => {
      busy += permits;
      console.log(`${name} takes ${permits}, ${busy} of ${semaphore.permits} are busy`);
      await sleep(20, undefined, { signal: lease.signal });
      busy -= permits;
    },
    { permits },
  );
}

const all = ['a', 'b', 'c', 'd', 'e'].map((name, at) => download(name, at === 2 ? 2 : 1));
await sleep(5);
// adds permits while others are in use
await semaphore.setPermits(5);
await Promise.all(all);
await holdfast.close();
