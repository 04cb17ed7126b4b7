/**
 * Three downloads at a time, across all processes; a large one takes two places. Put a client where
 * `memory()` stands.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, memory } from 'holdfast';

const holdfast = new Holdfast(memory());
const places = holdfast.semaphore('downloads', { permits: 3 });
let busy = 0;

async function download(name: string, count: number): Promise<void> {
  await places.run(
    async (lease) => {
      busy += count;
      console.log(`${name} takes ${count}, ${busy} of ${places.permits} are busy`);
      await sleep(20, undefined, { signal: lease.signal });
      busy -= count;
    },
    { count },
  );
}

const all = ['a', 'b', 'c', 'd', 'e'].map((name, at) => download(name, at === 2 ? 2 : 1));
await sleep(5);
// more of them, while they are in use
await places.setPermits(5);
await Promise.all(all);
await holdfast.close();
