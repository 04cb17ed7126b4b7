/** Holds a lock, and ends its work when the parent tells it to, after SIGTERM. */
import { make, setting, tell, told } from './connect.mjs';

const holdfast = await make({ ttl: 60_000, closeOnSignals: ['SIGTERM'], grace: 60_000 });
// a handler of its own for the signal would decide when the process ends
/** @type {any} */ (holdfast).core.onClose(() => tell('closing'));
await holdfast.mutex(setting.key).run(async () => {
  const word = told();
  tell('holds');
  await word;
  tell('finished');
});
await told();
