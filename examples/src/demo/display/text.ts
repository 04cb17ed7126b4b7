/** Describes a report in one line, for the log and for the notes below a chart. */
import type { Report } from '../reports.js';
import type { ScenarioState } from './state.js';

/** A line, or undefined for minor reports. Call it after `state` has applied the report. */
export function describe(report: Report, state: ScenarioState): string | undefined {
  const text = eventText(report, state);
  if (text === undefined) return undefined;
  const time = ((report.at - state.startedAt) / 1000).toFixed(2);
  return `${time.padStart(6)} s  ${report.worker} ${text}`;
}

function eventText(report: Report, state: ScenarioState): string | undefined {
  switch (report.what) {
    case 'waits':
      return 'requests the lock';
    case 'holds':
      return `holds the lock, fence ${report.fence}${waitText(report.worker, state)}`;
    case 'wrote': {
      const { fence, highest } = report;
      if (fence >= highest) return `writes with fence ${fence}: accepted`;
      return `writes with fence ${fence}: REFUSED`;
    }
    case 'looked': {
      const { held, aborted } = report;
      return held ? undefined : `sees: lease.held false, lease.signal.aborted ${aborted}`;
    }
    case 'releases':
      return `releases, after ${count(state.row(report.worker)?.renewals ?? 0, 'renewal')}`;
    case 'done':
      return report.outcome === 'lost'
        ? 'releases: release() resolves to "lost", no lock was freed'
        : undefined;
    case 'killed': {
      const end = ((report.leaseEnds - state.startedAt) / 1000).toFixed(2);
      return `${report.how}; its lease runs until ${end} s`;
    }
    case 'paused':
    case 'resumed':
      return report.how;
    case 'failed':
      return `failed: ${report.message}`;
    case 'down':
      return 'is killed (SIGKILL)';
    case 'up':
    case 'renewed':
      return undefined;
  }
}

function waitText(worker: string, state: ScenarioState): string {
  const { waited, handOff } = state.row(worker) ?? {};
  if (handOff !== undefined) return `, hand-off ${ms(handOff)}`;
  return waited === undefined ? '' : `, waited ${seconds(waited)}`;
}

export function seconds(value: number): string {
  return `${(value / 1000).toFixed(2)} s`;
}

export function ms(value: number): string {
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${value.toFixed(digits)} ms`;
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
