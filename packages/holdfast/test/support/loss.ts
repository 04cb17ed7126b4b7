/**
 * Partial loss: a server evicts or deletes one key of a resource and keeps the others.
 *
 * The queue and the order of expiry follow from the main record, so their loss changes nothing, and
 * the engine, which cannot lose them, remains the reference. The loss of the main record is the
 * loss of the resource, even if the other keys remain.
 */
import fc from 'fast-check';
import { asking, MANY } from './crowds.js';
import { KEYS, literally, type Step, traffic } from './traffic.js';

/** The keys of a resource, in the order of the scripts' KEYS. */
export const PARTS = ['record', 'queue', 'expiries'] as const;

export interface Loss {
  readonly key: string;
  readonly part: (typeof PARTS)[number];
}

/** A step, and the keys that are lost before it. */
export interface LossyStep extends Step {
  readonly lost?: readonly Loss[];
}

const loss = fc.record({
  at: fc.nat(120),
  key: fc.constantFrom(...KEYS),
  part: fc.constantFrom('queue', 'queue', 'expiries', 'expiries', 'record'),
});

/** Random traffic on a server that loses single keys. */
export const lossyTraffic: fc.Arbitrary<LossyStep[]> = fc
  .tuple(traffic, fc.array(loss, { minLength: 1, maxLength: 20, size: 'max' }))
  .map(([steps, losses]) =>
    steps.map((step, index) => ({ ...step, lost: losses.filter(({ at }) => at === index) })),
  );

const key = 'k2';
const retention = 86_400_000;
const patience = 1e6;
const after = (step: Step, ...parts: Loss['part'][]): LossyStep => ({
  ...step,
  lost: parts.map((part) => ({ key, part })),
});

/** Many leases and many waiters. Some keys are lost on the way. */
export const lossyCrowd: LossyStep[] = [
  ...Array.from({ length: MANY }, (_, index) =>
    literally(asking(`h${index}`, { capacity: MANY, ttl: 1000 + index })),
  ),
  ...Array.from({ length: MANY }, (_, index) =>
    literally(asking(`w${index}`, { capacity: MANY, channel: 'live-1', fair: index % 2 === 0 })),
  ),
  after(literally({ op: 'inspect', key, limit: 3 }, 1_500_000), 'queue', 'expiries'),
  literally({ op: 'release', key, id: 'h5', retention }),
  after(literally({ op: 'forceRelease', key, id: '', retention }), 'expiries'),
  after(literally({ op: 'poll', key, ids: ['w0', 'w1299'], patience, retention }), 'queue'),
  after(literally(asking('new', { capacity: 3 })), 'record'),
  literally(asking('other', { capacity: 3 })),
  literally(asking('large', { capacity: 3, weight: 3 })),
  // The order of expiry remains, and the record has no lease in it.
  after(literally(asking('alone', { capacity: 1 })), 'record'),
  literally({ op: 'release', key, id: 'alone', retention }),
  literally({ op: 'capacity', key, from: 1, capacity: 3, retention }),
  literally({ op: 'poll', key, ids: [], patience, retention }),
];
