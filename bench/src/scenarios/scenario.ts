/** What a scenario is, and the common parts of the scenarios. */
import { type Placement, place, placed } from '../machine.js';
import type { FigureName, Table, Target } from '../results.js';
import { type Contender, inTurns, type Measured } from '../rounds.js';
import type { Bench, ScenarioId } from '../settings.js';
import { PEERS, planted, type Variant } from '../variants.js';

export type Scenario = (bench: Bench, add: (table: Table) => void) => Promise<void>;

interface Plan {
  readonly scenario: ScenarioId;
  readonly title: string;
  readonly main: FigureName;
  readonly placement: Placement;
  readonly contenders: readonly Contender[];
  readonly targets?: (measured: Measured) => Target[];
  readonly rounds?: number;
}

/** Measures one table. */
export async function measureTable(bench: Bench, plan: Plan): Promise<Table> {
  const { scenario, title, main, placement, contenders, targets } = plan;
  place(placement, bench.target.pid);
  const measured = await inTurns(contenders, plan.rounds ?? bench.rounds, main);
  await bench.target.command('FLUSHALL');
  return {
    ...{ scenario, title, main, placement: placed(placement), ...measured },
    targets: targets?.(measured) ?? [],
  };
}

/** The libraries of the npm registry, unless the run leaves them out; and the planted ones. */
export const others = (bench: Bench): Variant[] => [
  ...(bench.peersFolder === undefined ? [] : PEERS),
  ...bench.planted.map(planted),
];

/** The placements of a scenario; a quick run takes the first. */
export const placements = (bench: Bench, all: readonly Placement[]): readonly Placement[] =>
  bench.quick ? all.slice(0, 1) : all;

/** The client of the scenarios that measure the library rather than the client. */
export const mainClient = (bench: Bench): Bench['clients'][number] =>
  bench.clients[0] ?? 'ioredis-5';
