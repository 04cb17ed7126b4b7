/**
 * Random traffic for gates: arrivals, watches and ends of present and past generations, in every
 * order that careless callers and failures can cause. As in `traffic.ts`, a step only selects an
 * arrival and a generation; their ids are resolved when the step runs.
 */
import fc from 'fast-check';
import type { Gate } from '../../src/engine/gate.js';
import type { GateCommand, GateKind } from '../../src/engine/commands.js';

type When = 'current' | 'past' | 'between' | 'older' | 'future' | 'zero';

/** One step: the clock moves, then a command arrives. */
export interface GateStep {
  /** Microseconds, rarely negative; or until the next due time. */
  readonly elapsed: number | 'to the next due time';
  readonly when: When;
  /** The command. Its generation is set when the command is sent. */
  readonly command: GateCommand;
}

export const LIVE_CHANNELS: readonly string[] = ['gate-2', 'gate-1', 'gate-10'];

/** The usual type of each key. */
const KINDS: Record<string, GateKind> = { 'a latch': 'latch', 'a barrier': 'barrier' };
export const GATE_KEYS: readonly string[] = Object.keys(KINDS);

/** Longer than all time steps of a sequence together, so that nothing expires in between. */
const RETENTION = 86_400_000;

const often = <T>(usual: T, times: number, ...seldom: T[]): fc.Arbitrary<T> =>
  fc.constantFrom(...Array.from({ length: times }, () => usual), ...seldom);

const id = fc.constantFrom('a1', 'a2', 'a3', 'a4', 'a5', 'a6');
const base = {
  key: fc.constantFrom(...GATE_KEYS),
  kind: often<GateKind | ''>('', 40, 'latch', 'barrier'),
  count: often(3, 20, 1, 2, 5),
  generation: fc.constant(0),
  ttl: fc.constantFrom(1, 5, 50, 1000, 1000),
  retention: fc.constantFrom(RETENTION, RETENTION, 2 * RETENTION),
};
const channel = fc.constantFrom('', 'gate-1', 'gate-2', 'gate-10', 'dead');
const token = fc.constantFrom('', 't1', 't2');

const arrive = fc.record({
  ...base,
  ...{ op: fc.constant('arrive' as const), id, channel, token, by: often(1, 8, 2, 7) },
});
const watch = fc.record({
  ...base,
  ...{ op: fc.constant('watch' as const), channel, token, count: often(3, 6, 0, 0, 2) },
  ids: fc.array(id, { maxLength: 3 }),
});
const turn = fc.record({
  ...base,
  op: fc.constant('endGeneration' as const),
  reason: fc.constantFrom('withdrawn' as const, 'reset' as const, 'deleted' as const),
});

const command = fc
  .oneof(
    { weight: 12, arbitrary: arrive },
    { weight: 6, arbitrary: watch },
    { weight: 2, arbitrary: turn },
  )
  .map((one): GateCommand => {
    const kind = one.kind === '' ? (KINDS[one.key] as GateKind) : one.kind;
    const deletes = one.op === 'endGeneration' && one.reason === 'deleted';
    return { ...one, kind, ...(deletes && { count: 0 }) };
  });

const when = fc.oneof(
  { weight: 12, arbitrary: fc.constant<When>('current') },
  { weight: 4, arbitrary: fc.constant<When>('past') },
  { weight: 1, arbitrary: fc.constantFrom<When>('between', 'older', 'future', 'zero') },
);

const elapsed = fc.oneof(
  { weight: 10, arbitrary: fc.constant(0) },
  { weight: 7, arbitrary: fc.integer({ min: 1, max: 1500 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1500, max: 60_000 }) },
  { weight: 1, arbitrary: fc.constant('to the next due time' as const) },
  { weight: 1, arbitrary: fc.integer({ min: -50_000, max: -1 }) },
);

export const gateTraffic: fc.Arbitrary<GateStep[]> = fc.array(
  fc.record({ elapsed, when, command }),
  { minLength: 1, maxLength: 200, size: 'max' },
);

/** The command of a step for the present state. */
export function gateCommandOf(
  { command: one, when }: GateStep,
  gate: Gate | undefined,
): GateCommand {
  const current = gate?.generation ?? 7;
  const generations: Record<When, number> = {
    current,
    past: gate?.pastGeneration || current - 1,
    between: current - 1,
    older: gate?.broken[0]?.generation ?? gate?.since ?? 1,
    future: current + 1,
    zero: one.op === 'watch' ? 0 : current,
  };
  return { ...one, generation: generations[when] };
}

/** Many channels, and more broken generations than a gate records. */
export function longHistory(turns: number): GateStep[] {
  const key = GATE_KEYS[1] as string;
  const base = { key, kind: 'barrier', count: 3, generation: 0, ttl: 50, retention: RETENTION };
  const steps: GateStep[] = [];
  for (let round = 0; round < turns; round++) {
    const add = (more: Partial<GateCommand>, when: When = 'current'): void => {
      const command = { ...base, ...more } as GateCommand;
      steps.push({ elapsed: 1, when, command });
    };
    add({ op: 'watch', ids: [], channel: LIVE_CHANNELS[round % 3] as string, token: 't' });
    add({
      op: 'arrive',
      id: `a${round}`,
      by: 1,
      channel: LIVE_CHANNELS[(round + 1) % 3] as string,
      token: `t${round}`,
    });
    add({ op: 'endGeneration', reason: 'reset' });
    add({ op: 'watch', ids: [], channel: '', token: '' }, 'past');
    add({ op: 'watch', ids: [], channel: '', token: '' }, 'older');
  }
  return steps;
}

/** A watch finds that the generation has expired, and waits for the next one as before. */
export const watchedAgain: readonly GateStep[] = (() => {
  const key = GATE_KEYS[1] as string;
  const told = { channel: LIVE_CHANNELS[0] as string, token: 't' };
  const base = { key, kind: 'barrier', count: 3, generation: 0, retention: RETENTION, ...told };
  const step = (elapsed: number, when: When, more: object): GateStep => {
    return { elapsed, when, command: { ...base, ttl: 1, ...more } as GateCommand };
  };
  return [
    step(1, 'zero', { op: 'watch', ids: [] }),
    step(1, 'current', { op: 'arrive', id: 'a1', by: 1 }),
    step(5000, 'zero', { op: 'watch', ids: [] }),
  ];
})();

/** Steps at a barrier of three parties. */
function barrierSteps(retention: number): {
  readonly step: (elapsed: GateStep['elapsed'], when: When, more: object) => GateStep;
  readonly stay: (id: string, elapsed: GateStep['elapsed'], more?: object, when?: When) => GateStep;
  readonly begin: readonly GateStep[];
} {
  const base = { key: GATE_KEYS[1] as string, kind: 'barrier', generation: 0, retention };
  const step = (elapsed: GateStep['elapsed'], when: When, more: object): GateStep => {
    const command = { ...base, ttl: 1000, channel: '', token: '', ...more } as GateCommand;
    return { elapsed, when, command };
  };
  return {
    step,
    stay: (id, elapsed, more = {}, when = 'current') =>
      step(elapsed, when, { op: 'watch', count: 0, ids: [id], ...more }),
    begin: [
      step(1, 'zero', { op: 'watch', count: 3, ids: [] }),
      step(1, 'current', { op: 'arrive', count: 3, id: 'a1', by: 1 }),
      step(1000, 'current', { op: 'arrive', count: 3, id: 'a2', by: 1 }),
    ],
  };
}

/** Two parties of a barrier keep their arrivals alive; another call takes it for a latch. */
export const stays: readonly GateStep[] = (() => {
  const { stay, begin } = barrierSteps(1000);
  return [
    ...begin,
    stay('a1', 1000),
    stay('a1', 1, { kind: 'latch' }),
    stay('a1', 1, { ids: ['a1', 'a2'] }),
    stay('a1', 1000),
    stay('a2', 1000, { ttl: 900 }),
    stay('a2', 300_000),
    stay('a1', 1000),
    stay('a2', 300_000),
  ];
})();

/** One of two parties stays until the arrival of the other one ends; then in a new generation. */
export const expires: readonly (readonly GateStep[])[] = (() => {
  const { step, stay, begin } = barrierSteps(RETENTION);
  const stayed = [...begin, stay('a2', 1000)];
  return [
    [...stayed, stay('a2', 'to the next due time')],
    [...stayed, stay('a2', 1_000_000)],
    [
      ...stayed,
      step(1, 'current', { op: 'endGeneration', reason: 'reset' }),
      step(1, 'current', { op: 'arrive', count: 3, id: 'a2', by: 1 }),
      stay('a2', 1, {}, 'past'),
    ],
  ];
})();
