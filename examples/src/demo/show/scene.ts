/** What the audience sees of an act: a state that reports change, and nothing else does. */
import type { Report } from '../reports.js';

export type Phase = 'waits' | 'holds' | 'dead' | 'paused' | 'late' | 'gone';

export interface Row {
  readonly name: string;
  /** In the order of time; the last one goes on. */
  readonly phases: { readonly from: number; readonly phase: Phase }[];
  fence: number | undefined;
  /** Ms from its request until it held the lock. */
  waited: number | undefined;
  /** Ms from the release of the one before until it held the lock. */
  handOff: number | undefined;
  renewals: number;
  leaseEnds: number;
  /** When the resource refused a write. */
  refusedAt: number | undefined;
}

/** What is known of an act before it begins. */
export interface Setting {
  readonly title: string;
  /** What to look at. */
  readonly look: readonly string[];
  /** How many ms it will take, about. */
  readonly span: number;
  readonly players: readonly string[];
  readonly ttl: number;
  /** How many lines of what happened are shown beneath the chart. */
  readonly notes: number;
  /** What the chart shows, for its legend. */
  readonly legend: readonly Phase[];
}

export class Scene {
  readonly setting: Setting;
  readonly rows: readonly Row[];
  readonly notes: string[] = [];
  readonly startedAt: number;
  /** Who was granted the lock last. */
  holder: Row | undefined;
  #freedAt: number | undefined;

  constructor(setting: Setting, startedAt: number) {
    this.setting = setting;
    this.startedAt = startedAt;
    this.rows = setting.players.map((name) => ({
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
        row.leaseEnds = at + report.left;
        this.holder = row;
        return turn('holds');
      case 'renewed':
        row.renewals += 1;
        row.leaseEnds = at + report.left;
        return undefined;
      case 'wrote':
        if (report.fence < report.highest) row.refusedAt = at;
        return undefined;
      case 'releases':
        this.#freedAt = at;
        return turn('gone');
      case 'killed':
        row.leaseEnds = report.leaseEnds;
        turn('dead');
        return turn('gone', report.leaseEnds);
      case 'paused':
        return turn('paused');
      case 'resumed':
        return turn('late');
      case 'failed':
      case 'done':
        return turn('gone');
      case 'looked':
        return undefined;
    }
  }
}

/** What somebody does at a time. */
export function phaseAt(row: Row, at: number): Phase | undefined {
  return row.phases.findLast(({ from }) => from <= at)?.phase;
}
