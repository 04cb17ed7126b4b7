/** Campaigns, and leads until the process ends. */
import { make, setting, tell } from './connect.mjs';

const holdfast = await make({ ttl: 600, claimWindow: 150, closeOnSignals: ['SIGTERM'] });
const leading = holdfast.election(setting.key).lead(async ({ term, signal }) => {
  const over = new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
  tell('leads', { term });
  await over;
  tell('over');
});
tell('candidate');
await leading;
tell('ended');
