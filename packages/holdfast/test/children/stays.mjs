/** Ends its clients, but closes nothing until it is told. */
import { disconnect, socketsAre, tell, told } from './connect.mjs';
import { contend } from './contend.mjs';

// without clients nothing is answered any more, so closing takes as long as it waits for that
const { one, other, held } = await contend({ requestTimeout: 150 });
await held.release();
const word = told();
disconnect();
await socketsAre(2);
tell('done');
await word;
await Promise.all([one, other].map((each) => each.close({ grace: 0 })));
