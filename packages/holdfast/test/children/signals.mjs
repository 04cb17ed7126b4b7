/** Instances that close on SIGTERM; the key says what the program does beside. */
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, memory } from 'holdfast';
import { setting, tell, told } from './connect.mjs';

const own = setting.key;
setInterval(() => undefined, 1000);
const shutdown = async () => {
  tell('shutdown');
  await sleep(100);
  tell('ready');
  process.exit(7);
};
if (own === 'once before') process.once('SIGTERM', () => void shutdown());
const store = memory();
const make = () => new Holdfast(store, { closeOnSignals: ['SIGTERM'], grace: 5000 });
const [one, other] = [make(), make()];
if (own === 'many') {
  for (let count = 0; count < 12; count++) make();
  const entry = import.meta.resolve('holdfast');
  if (entry.includes('/publish/')) {
    // the package has another copy, for CommonJS
    const copy = createRequire(import.meta.url)('holdfast');
    void new copy.Holdfast(copy.memory(), { closeOnSignals: ['SIGTERM'] });
  } else {
    const { closeOn } = await import(`${new URL('base/signals.js', entry).href}?copy`);
    closeOn(['SIGTERM'], () => Promise.resolve());
  }
  tell('listens', { listeners: process.listenerCount('SIGTERM') });
}
if (own === 'once') process.once('SIGTERM', () => void shutdown());
if (own === 'on') process.on('SIGTERM', () => void shutdown());
await one.mutex('short').run(() => undefined);
const lease = await other.mutex('long').acquire();
if (own === 'both close') void one.close();
if (own === 'one closes' || own === 'both close') void other.close();
tell('holds');
await told();
tell('finishing', { held: lease.held, listeners: process.listenerCount('SIGTERM') });
await lease.release();
tell('released');
