/** Uses every part of the library, closes, and must then end by itself. */
import { disconnect, setting, socketsAre, tell } from './connect.mjs';
import { contend } from './contend.mjs';

const { one, other } = await contend();
tell('contended');
await one.close({ grace: 10 });
await other.close({ grace: 10 });
const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
// `close` does not end the user's own connections
await socketsAre(setting.client === 'memory' ? 0 : 2);
tell('closed', { timers });
disconnect();
