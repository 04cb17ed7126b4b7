/** A client process: locks until the runner tells it to finish, or kills it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Holdfast, HoldfastOptions } from 'holdfast';
import type { History } from 'holdfast-checker';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, randomFrom } from 'holdfast-trials/support/random';
import { Resource } from 'holdfast-trials/support/resource';
import { given, received, send } from 'holdfast-trials/support/workers';
import { type WorkerSettings, historyOf } from '../settings.js';
import { drawStep } from './steps/all.js';
import { accessTo } from './connect.js';
import { loadLibrary } from './library.js';
import { Workload } from './workload.js';

/** Longest pause between two steps: the history of ten minutes must fit into memory. */
const PAUSE_MS = 150;
const LOOK_EVERY_MS = 10;
/** A shorter stall costs no waiter its turn. */
const STALL_MS = 15;

const all = given<WorkerSettings>();
const library = await loadLibrary();

/** One task: repeats random steps until the run is over. */
async function task(workload: Workload, index: number): Promise<void> {
  const random = randomFrom(all.seed * 1000 + index);
  while (!workload.over) {
    await sleep(between(random, 1, PAUSE_MS));
    await drawStep(random, all)(workload, random);
  }
}

/** Records each stall of the event loop, whether the process or a busy machine caused it. */
function watchStalls(history: History): void {
  let last = monotonic();
  const look = (): void => {
    const now = monotonic();
    const ms = now - last - LOOK_EVERY_MS;
    last = now;
    if (ms > STALL_MS) history.add(all.name, { e: 'stalled', ms });
  };
  setInterval(look, LOOK_EVERY_MS).unref();
}

// before the runner knows of this process: a message without a listener is lost
const [finishing, calming] = [received('finish'), received('calm')];
if (all.store === 'sqlite') (await import('./stop-inside.js')).stopWhenAsked();
await send('ready');
const access = await accessTo(all, library);
const resource = new Resource(all.resourceUrl);
const history = historyOf(all.folder, all.name);
watchStalls(history);
const make = (options: HoldfastOptions): Holdfast => new library.Holdfast(access.make(), options);
const workload = new Workload({ given: all, make, history, resource, access, library });
void finishing.then(() => {
  workload.over = true;
  workload.finish.abort();
});
void calming.then(async () => {
  await workload.nextGrant();
  await send('recovered');
});
process.on('message', (message: { type: string; offset?: number }) => {
  if (message.type === 'wall') workload.wallOffset = message.offset ?? 0;
});
const tasks = Array.from({ length: all.tasks }, (_, index) => task(workload, index));
void workload.force();
void workload.replace();
await Promise.all(tasks);
await Promise.all([workload.holdfast.close(), workload.replaced]);
await send('finished');
// connections that a partition left behind would keep the process alive
process.exit(0);
