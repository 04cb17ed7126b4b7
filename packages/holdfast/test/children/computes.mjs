/** Starts a flight with a computation that never ends. */
import { make, setting, tell, told } from './connect.mjs';

const holdfast = await make({ ttl: setting.ttl, claimWindow: 100 });
await holdfast.singleFlight(setting.key).do(async ({ fence }) => {
  tell('computes', { fence });
  await told();
});
