/** Two instances that have acquired, waited, cancelled and handed over, and still hold and wait. */
import { make, setting, socketsAre } from './connect.mjs';

/** @param {import('../../dist/index.js').HoldfastOptions} options */
export async function contend(options = {}) {
  const [one, other] = [await make(options), await make(options)];
  const { key } = setting;
  const lease = await one.mutex(key).acquire({ onExpiring: () => undefined });
  const waiting = other.mutex(key).acquire({ wait: 60_000, signal: new AbortController().signal });
  await other.mutex(key).tryAcquire({ wait: 20 });
  const own = one.mutex(key).acquire();
  await lease.release();
  // in any order: the lease may be handed on inside its process
  await Promise.all([waiting, own].map(async (lease) => (await lease).release()));
  const held = await other.mutex(`${key} held`).acquire();
  const left = one.mutex(`${key} held`).acquire();
  left.catch(() => undefined);
  // each instance has its client's connection and its wake connection
  await socketsAre(setting.client === 'memory' ? 0 : 4);
  return { one, other, held, left };
}
