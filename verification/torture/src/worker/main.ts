/** A client process: locks until the runner tells it to finish, or kills it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { HoldfastOptions, RedisClient } from 'holdfast';
import type { History } from 'holdfast-checker';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, randomFrom } from 'holdfast-trials/support/random';
import { Resource } from 'holdfast-trials/support/resource';
import { given, received, send } from 'holdfast-trials/support/workers';
import { quorumOptions, type WorkerSettings, historyOf } from '../settings.js';
import { drawStep } from './steps/all.js';
import { connect } from './connect.js';
import { loadLibrary } from './library.js';
import { Workload } from './workload.js';

/** Longest pause between two steps: the history of ten minutes must fit into memory. */
const PAUSE_MS = 150;
const LOOK_EVERY_MS = 10;
/** A shorter stall costs no waiter its turn. */
const STALL_MS = 15;

const all = given<WorkerSettings>();
const { Holdfast, quorum } = await loadLibrary();

/** One task: repeats random steps until the run is over. */
async function task(workload: Workload, index: number): Promise<void> {
  const random = randomFrom(all.seed * 1000 + index);
  while (!workload.over) {
    await sleep(between(random, 1, PAUSE_MS));
    await drawStep(random, all.fault !== undefined)(workload, random);
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

await send('ready');
const isLimited = randomFrom(all.seed)() < 0.3;
const clients = await Promise.all(all.urls.map((url) => connect(all.client, url, isLimited)));
const resource = new Resource(all.resourceUrl);
const history = historyOf(all.folder, all.name);
watchStalls(history);
const make = (options: HoldfastOptions): InstanceType<typeof Holdfast> => {
  const [first] = clients as [RedisClient];
  return new Holdfast(
    clients.length > 1 ? quorum(clients, quorumOptions(all.forgets)) : first,
    options,
  );
};
const workload = new Workload(all, make, history, resource);
void received('finish').then(() => {
  workload.over = true;
  workload.finish.abort();
});
void received('calm').then(async () => {
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
