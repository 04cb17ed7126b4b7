/** Arrives at a barrier of two parties, and reports the result. */
import { make, setting, tell, told } from './connect.mjs';

const holdfast = await make({ ttl: setting.ttl, claimWindow: 100 });
const barrier = holdfast.barrier(setting.key, { parties: 2 });
const meeting = barrier.await();
tell('arriving');
await meeting.then(
  ({ index }) => tell('passed', { index }),
  (error) => tell('failed', { code: error.code }),
);
await told();
process.exit();
