/** Two instances that close on SIGTERM; the key says which handler the program has beside. */
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
if (own === 'once') process.once('SIGTERM', () => void shutdown());
if (own === 'on') process.on('SIGTERM', () => void shutdown());
await one.mutex('short').run(() => undefined);
const lease = await other.mutex('long').acquire();
tell('holds');
await told();
tell('finishing', { held: lease.held });
await lease.release();
