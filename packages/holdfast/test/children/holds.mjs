/** Holds a lock without limit, and releases it on SIGTERM. */
import { make, setting, tell, told } from './connect.mjs';

const holdfast = await make({ ttl: 60_000, closeOnSignals: ['SIGTERM'], grace: 20 });
const lease = await holdfast.mutex(setting.key).acquire();
lease.signal.addEventListener('abort', () => tell('aborted'));
tell('holds', { fence: lease.fence });
await told();
