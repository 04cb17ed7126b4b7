/** Waits on a condition; once woken it holds the lock, and reports that. */
import { make, setting, tell, told } from './connect.mjs';

const holdfast = await make({ ttl: 60_000, claimWindow: 200 });
const mutex = holdfast.mutex(setting.key);
const lease = await mutex.acquire({ ttl: 600 });
tell('parks');
const woken = await mutex.condition('c').await(lease);
tell('woken', { woken, fence: lease.fence });
await told();
