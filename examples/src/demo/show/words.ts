/** What happened, in words: a line of the log, and of the notes beneath a chart. */
import type { Report } from '../reports.js';
import type { Scene } from './scene.js';

/** A line, or nothing for what is too small to be told. Call it after the scene has the report. */
export function describe(report: Report, scene: Scene): string | undefined {
  const text = told(report, scene);
  if (text === undefined) return undefined;
  const time = ((report.at - scene.startedAt) / 1000).toFixed(2);
  return `${time.padStart(6)} s  ${report.worker} ${text}`;
}

function told(report: Report, scene: Scene): string | undefined {
  switch (report.what) {
    case 'waits':
      return 'asks for the lock';
    case 'holds':
      return `holds the lock, fence ${report.fence}${since(report.worker, scene)}`;
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
      return `releases, after ${count(scene.row(report.worker)?.renewals ?? 0, 'renewal')}`;
    case 'done':
      return report.outcome === 'lost'
        ? 'is told by release(): "lost", nothing was freed'
        : undefined;
    case 'killed': {
      const end = ((report.leaseEnds - scene.startedAt) / 1000).toFixed(2);
      return `${report.how}; its lease runs until ${end} s`;
    }
    case 'paused':
    case 'resumed':
      return report.how;
    case 'failed':
      return `failed: ${report.message}`;
    case 'renewed':
      return undefined;
  }
}

function since(worker: string, scene: Scene): string {
  const { waited, handOff } = scene.row(worker) ?? {};
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
