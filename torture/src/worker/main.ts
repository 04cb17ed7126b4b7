/** A process of the torture: locks until it is told to finish, or is killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { History } from 'holdfast-checker';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, randomFrom } from 'holdfast-trials/support/random';
import { Resource } from 'holdfast-trials/support/resource';
import { given, say, told } from 'holdfast-trials/support/workers';
import { type Given, historyOf } from '../settings.js';
import { drawAct } from './acts/all.js';
import { connect } from './connect.js';
import { loadLibrary } from './library.js';
import { Play } from './play.js';

/** Between two acts of a task: the history of ten minutes has to fit into memory. */
const THINK_MS = 150;
const LOOK_EVERY_MS = 10;
/** Shorter ones cost no waiter its turn. */
const STALL_MS = 15;

const all = given<Given>();
const { Holdfast } = await loadLibrary();

/** What one task does until it is over. */
async function task(play: Play, index: number): Promise<void> {
  const random = randomFrom(all.seed * 1000 + index);
  while (!play.over) {
    await sleep(between(random, 1, THINK_MS));
    await drawAct(random, all.fault !== undefined)(play, random);
  }
}

/** Puts on record when the event loop stood still, by itself or because the machine was busy. */
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

await say('ready');
const client = await connect(all.client, all.url);
const resource = new Resource(all.resourceUrl);
const history = historyOf(all.folder, all.name);
watchStalls(history);
const play = new Play(all, (options) => new Holdfast(client, options), history, resource);
void told('finish').then(() => {
  play.over = true;
  play.finish.abort();
});
void told('calm').then(async () => {
  await play.nextGrant();
  await say('recovered');
});
process.on('message', (message: { type: string; offset?: number }) => {
  if (message.type === 'wall') play.wallOffset = message.offset ?? 0;
});
const tasks = Array.from({ length: all.tasks }, (_, index) => task(play, index));
void play.force();
void play.replace();
await Promise.all(tasks);
await play.holdfast.close();
await say('finished');
// connections that a torn network left behind would keep the process alive
process.exit(0);
