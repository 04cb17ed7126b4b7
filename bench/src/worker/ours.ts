/** Holdfast. */
import { Holdfast, type Mutex } from 'holdfast';
import type { ClientName } from '../variants.js';
import { connect, disconnect } from './clients.js';
import type { Given, Library } from './library.js';

export async function openOurs({ variant, port, ttl, renew }: Given): Promise<Library> {
  const connected = await connect(variant.client as ClientName, port);
  const holdfast = new Holdfast(connected.client, { ttl, renew });
  const mutexes = new Map<string, Mutex>();
  const mutex = (key: string): Mutex => {
    const made = holdfast.mutex(key, { fair: variant.mode === 'fair' });
    mutexes.set(key, made);
    return made;
  };
  return {
    acquire: (key) => (mutexes.get(key) ?? mutex(key)).acquire(),
    close: async () => {
      await holdfast.close({ grace: 0 });
      disconnect(connected);
    },
  };
}
