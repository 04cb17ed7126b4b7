/** Ends its clients, but does not close the instances until it is told to. */
import { disconnect, socketsAre, tell, told } from './connect.mjs';
import { contend } from './contend.mjs';

// without clients no command is answered, so `close` lasts until its time limit
const { one, other, held } = await contend({ requestTimeout: 150 });
await held.release();
const word = told();
disconnect();
await socketsAre(2);
tell('done');
await word;
await Promise.all([one, other].map((each) => each.close({ grace: 0 })));
