/** Fires a schedule once. The run ends at once or hangs, as the parent tells it. */
import { disconnect, make, setting, tell, told } from './connect.mjs';

const [, , , how = 'ends', slot, atLeast = '0'] = process.argv;
const { ttl = 400 } = setting;
const holdfast = await make({ ttl, claimWindow: ttl / 4 });
const schedule = holdfast.schedule(setting.key, { atLeast: Number(atLeast) });
const outcome = await schedule.runOnce(
  async ({ fence }) => {
    tell('runs', { fence });
    if (how === 'hangs') await told();
  },
  slot ? { slot } : {},
);
tell('fired', { ran: outcome.ran });
await holdfast.close();
disconnect();
