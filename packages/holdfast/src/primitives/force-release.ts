/**
 * Ends leases without the consent of their holders.
 *
 * Each victim gets a marker beforehand, with the reason and with the process that ends its lease.
 * Its process reads the marker when the store does not know the lease any more.
 */
import type { Core } from '../core.js';
import { FORCE_LIMIT } from '../engine/limits.js';
import { ask } from '../inspection.js';
import { markerKey } from '../marker-key.js';
import { quietly } from './acquirer.js';
import { mark } from './markers.js';
import type { ForcedMessage } from '../messages.js';
import { FORCED, isOn, traced } from '../telemetry.js';

/** The most leases that learn the reason. */
const TOLD_MAX = 100;
const DAY = 86_400_000;
/** A process reads its marker before its lease would have ended by itself, or a moment later. */
const MARGIN_MS = 1000;

/** Resolves to the number of ended leases. */
export function forceRelease(core: Core, key: string, id: string, reason: string): Promise<number> {
  const end = (): Promise<number> => forced(core, key, id, reason);
  if (!isOn(FORCED)) return end();
  const { instance } = core.telemetry;
  const message: ForcedMessage = { instance, key, id, reason };
  return traced(FORCED, message, end, (to, ended) => {
    to.ended = ended;
  });
}

async function forced(core: Core, key: string, id: string, reason: string): Promise<number> {
  const { retention } = core.settings;
  // the store knows a lease that was handed on by the id of its root
  const [root] = id.split('/', 1) as [string];
  await quietly(tell(core, key, root, reason));
  let total = 0;
  for (;;) {
    const command = { op: 'forceRelease', key, id: root, retention } as const;
    const { ended } = await ask(core, command, 'HOLDFAST_UNCERTAIN');
    total += ended;
    if (ended < FORCE_LIMIT) break;
  }
  return total;
}

/** Sets a marker for each hold, until its process must have found that its lease has ended. */
async function tell(core: Core, key: string, root: string, reason: string): Promise<void> {
  const { holders } = await core.requests.send({ op: 'inspect', key, limit: TOLD_MAX });
  const { label } = core.settings;
  const text = [reason, label && `by ${label}`].filter(Boolean).join(', ');
  const victims = holders.flatMap(({ id, ids, left }) => {
    const ttl = Math.min(DAY, Math.ceil(Math.max(0, left / 1000)) + MARGIN_MS);
    const all = ids.length === 0 ? [id] : ids;
    return root === '' || id === root || all.includes(root)
      ? all.map((one) => [one, ttl] as const)
      : [];
  });
  const marks = victims.slice(0, TOLD_MAX).map(async ([one, ttl]) => {
    const marker = markerKey(key, 'forced', one);
    (await quietly(mark(core, marker, ttl, text.slice(0, 200))))?.leave();
  });
  await Promise.all(marks);
}
