/** A process of the torture: locks until it is told to finish, or is killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { between, randomFrom } from 'holdfast-trials/support/random';
import { Resource } from 'holdfast-trials/support/resource';
import { given, say, told } from 'holdfast-trials/support/workers';
import { type Given, historyOf, OPTIONS } from '../settings.js';
import { connect } from './connect.js';
import { loadLibrary } from './library.js';
import { Sections } from './sections.js';

const all = given<Given>();
const { Holdfast } = await loadLibrary();

/** Now and then an instance is closed, with whatever it holds and waits for, and followed. */
async function replace(sections: Sections, client: object): Promise<void> {
  const random = randomFrom(all.seed);
  while (!sections.over) {
    await sleep(between(random, 2000, 8000));
    const before = sections.holdfast;
    sections.holdfast = new Holdfast(client, OPTIONS);
    await before.close({ grace: between(random, 0, OPTIONS.ttl) });
  }
}

await say('ready');
const client = await connect(all.client, all.url);
const resource = new Resource(all.resourceUrl);
const history = historyOf(all.folder, all.name);
const sections = new Sections(all, new Holdfast(client, OPTIONS), history, resource);
void told('finish').then(() => {
  sections.over = true;
});
void told('calm').then(async () => {
  await sections.nextGrant();
  await say('recovered');
});
const tasks = Array.from({ length: all.tasks }, (_, index) => sections.task(index));
void sections.force();
void replace(sections, client);
await Promise.all(tasks);
await sections.holdfast.close();
await say('finished');
// the connections that a torn network left behind are nobody's concern here
process.exit(0);
