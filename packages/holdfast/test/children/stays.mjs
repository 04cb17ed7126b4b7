/** Ends its clients, and does not close its instances: the wake connections stay open. */
import { disconnect, socketsAre, tell } from './connect.mjs';
import { contend } from './contend.mjs';

const { held, left } = await contend();
await held.release();
await (await left).release();
disconnect();
await socketsAre(2);
tell('done');
