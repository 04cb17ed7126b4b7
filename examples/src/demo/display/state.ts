/** The displayed state of a scenario. Only reports change it. */
import type { Report } from '../reports.js';

export type Phase = 'waits' | 'holds' | 'dead' | 'paused' | 'resumed' | 'finished' | ServerPhase;

/** The phases of a server of a quorum. */
export type ServerPhase = 'up' | 'down';

export interface Row {
  readonly name: string;
  /** In the order of time; the last phase has no end yet. */
  readonly phases: { readonly from: number; readonly phase: Phase }[];
  fence: number | undefined;
  /** Ms from its request until it acquired the lock. */
  waited: number | undefined;
  /** Ms from the release by the previous holder until it acquired the lock. */
  handOff: number | undefined;
  renewals: number;
  leaseEnds: number;
  /** When the resource refused a write. */
  refusedAt: number | undefined;
}

/** The description of a scenario. */
export interface ScenarioInfo {
  readonly title: string;
  /** An explanation, printed before the scenario starts. */
  readonly intro: readonly string[];
  /** The expected duration in ms. */
  readonly span: number;
  readonly workers: readonly string[];
  readonly ttl: number;
  /** The number of event lines below the chart. */
  readonly notes: number;
  /** The phases in the legend. */
  readonly legend: readonly Phase[];
}

export class ScenarioState {
  readonly info: ScenarioInfo;
  readonly rows: readonly Row[];
  readonly notes: string[] = [];
  readonly startedAt: number;
  /** The last worker that acquired the lock. */
  holder: Row | undefined;
  #freedAt: number | undefined;

  constructor(info: ScenarioInfo, startedAt: number) {
    this.info = info;
    this.startedAt = startedAt;
    this.rows = info.workers.map((name) => ({
      ...{ name, phases: [], renewals: 0, leaseEnds: 0 },
      ...{ fence: undefined, waited: undefined, handOff: undefined, refusedAt: undefined },
    }));
  }

  row(name: string): Row | undefined {
    return this.rows.find((row) => row.name === name);
  }

  apply(report: Report): void {
    const row = this.row(report.worker);
    if (row === undefined) return;
    const { at } = report;
    const turn = (phase: Phase, from = at): void => void row.phases.push({ from, phase });
    switch (report.what) {
      case 'waits':
        return turn('waits');
      case 'holds':
        row.fence = report.fence;
        row.waited = at - (row.phases.at(-1)?.from ?? at);
        if (this.#freedAt !== undefined) row.handOff = at - this.#freedAt;
        this.#freedAt = undefined;
        row.leaseEnds = at + report.remaining;
        this.holder = row;
        return turn('holds');
      case 'renewed':
        row.renewals += 1;
        row.leaseEnds = at + report.remaining;
        return undefined;
      case 'wrote':
        if (report.fence < report.highest) row.refusedAt = at;
        return undefined;
      case 'releases':
        this.#freedAt = at;
        return turn('finished');
      case 'killed':
        row.leaseEnds = report.leaseEnds;
        turn('dead');
        return turn('finished', report.leaseEnds);
      case 'paused':
        return turn('paused');
      case 'resumed':
        return turn('resumed');
      case 'up':
      case 'down':
        return turn(report.what);
      case 'failed':
      case 'done':
        return turn('finished');
      case 'looked':
        return undefined;
    }
  }
}

/** The phase of a worker at a time. */
export function phaseAt(row: Row, at: number): Phase | undefined {
  return row.phases.findLast(({ from }) => from <= at)?.phase;
}
