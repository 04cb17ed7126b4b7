/**
 * Partial loss of gates: a server evicts or deletes one key of a gate and keeps the others.
 * `lib/gate.lua` describes the effect of each loss.
 */
import fc from 'fast-check';
import type { GateCommand } from '../../src/engine/commands.js';
import type { Engine } from '../../src/engine/engine.js';
import { type Fault, fault } from './faults.js';
import { GATE_KEYS, type GateStep, gateTraffic } from './gate-traffic.js';

/** The keys of a gate, in the order of the scripts' KEYS. */
export const GATE_PARTS = ['record', 'arrivals', 'past', 'expiries'] as const;

export interface GateLoss {
  readonly key: string;
  readonly part: (typeof GATE_PARTS)[number];
}

/** A step, and the keys that are lost before it. */
export interface LossyGateStep extends GateStep {
  readonly lost?: readonly GateLoss[];
}

/** Applies a loss to the engine; true if the gate existed. */
export function lose(engine: Engine, { key, part }: GateLoss): boolean {
  const gate = engine.gates.get(key);
  if (gate === undefined) return false;
  if (part === 'past') {
    if (gate.past.size === 0) return false;
    gate.forgetPast();
    return true;
  }
  if (part === 'arrivals' && gate.arrivals.size === 0) return false;
  if (part === 'expiries' && gate.expiries.size === 0) return false;
  engine.forget(key);
  return true;
}

const loss = fc.record({
  at: fc.nat(120),
  key: fc.constantFrom(...GATE_KEYS),
  part: fc.constantFrom(...GATE_PARTS),
});

/** Random traffic on a server that loses single keys. */
export const lossyGateTraffic: fc.Arbitrary<LossyGateStep[]> = fc
  .tuple(gateTraffic, fc.array(loss, { minLength: 1, maxLength: 20, size: 'max' }))
  .map(([steps, losses]) =>
    steps.map((step, index) => ({ ...step, lost: losses.filter(({ at }) => at === index) })),
  );

const latch = { key: 'a latch', kind: 'latch', count: 3, generation: 0, ttl: 60_000 } as const;
const step = (command: GateCommand, ...parts: GateLoss['part'][]): LossyGateStep => ({
  ...{ elapsed: 7, when: 'zero', command },
  lost: parts.map((part) => ({ key: latch.key, part })),
});
const waits = { channel: 'gate-1', token: 't', retention: 86_400_000 } as const;
/** A process waits at a gate that is lost, and again at the new one. */
export const lostWait: LossyGateStep[] = [
  step({ op: 'watch', ...latch, ids: [], ...waits }),
  { ...step({ op: 'arrive', ...latch, id: 'a', by: 1, ...waits }), when: 'current' },
  step({ op: 'watch', ...latch, ids: [], ...waits }, 'arrivals'),
];

const barrier = { ...latch, key: 'a barrier', kind: 'barrier', count: 2 } as const;
const partOf = (command: GateCommand, ...parts: GateLoss['part'][]): LossyGateStep => ({
  ...step(command),
  when: command.op === 'watch' && command.count > 0 ? 'zero' : 'current',
  lost: parts.map((part) => ({ key: barrier.key, part })),
});
/** A party keeps its arrival alive at a barrier that loses its arrivals. */
export const lostStay: LossyGateStep[] = [
  partOf({ op: 'watch', ...barrier, ids: [], ...waits }),
  partOf({ op: 'arrive', ...barrier, id: 'a', by: 1, ...waits }),
  partOf({ op: 'watch', ...barrier, count: 0, ids: ['a'], ...waits }, 'arrivals'),
];

const gate = 'lib/gate.lua';
const stay = 'short/stay.lua';

/** Faults in the handling of lost keys. */
export const GATE_LOSS_FAULTS: readonly Fault[] = [
  fault('gate loss: arrivals are not counted', [
    gate,
    "redis.call('HLEN', arrivals) == g.arrived",
    'true',
  ]),
  fault('gate loss: expiries are not counted', [
    gate,
    "redis.call('ZCARD', expiries) == g.arrived",
    'true',
  ]),
  fault('gate loss: past generations are not counted', [
    gate,
    "redis.call('HLEN', past) ~= g.remembered",
    'false',
  ]),
  fault('gate loss: the channels of a lost gate count', [gate, 'g, known = nil, nil', 'g = nil']),
  fault('gate loss: the remaining keys are used', ['watch.lua', '  delete_rest()\n', '']),
  fault('gate loss: a lone arrival stays without the others', [
    stay,
    "redis.call('HLEN', arrivals) ~= arrived",
    'false',
  ]),
];
