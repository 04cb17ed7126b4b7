/** The report of a run: counts of faults, grants, failures and violations, and recovery times. */
import { CHECKS, type HistoryEvent } from 'holdfast-checker';
import { percentile } from 'holdfast-testkit';
import { clientOf } from './settings.js';
import type { Outcome } from './torture.js';

/** Kinds of violations: those of the checker, and those that the run itself finds. */
const KINDS = [...CHECKS, 'error', 'process'];

type Counts = Map<string, number>;

function count(counts: Counts, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/**
 * Times from the end of each fault to the next grant, by kind of fault. A fault of one process
 * counts to the next grant of that process.
 */
export function recoveries(events: readonly HistoryEvent[]): Map<string, number[]> {
  const times = new Map<string, number[]>();
  let open: { kind: string; of: string | undefined; t: number }[] = [];
  for (const event of events) {
    if (event.e === 'fault' && event.phase !== 'begin') {
      const { of } = event as { of?: string };
      // a killed process is replaced by one with the next generation in its name
      const process = event.kind.startsWith('client killed') ? of?.split('.')[0] : of;
      open.push({ kind: event.kind, of: process, t: event.t });
    } else if (event.e === 'grant') {
      open = open.filter(({ kind, of, t }) => {
        const applies = of === undefined || event.p === of || event.p.startsWith(`${of}.`);
        if (applies) times.set(kind, [...(times.get(kind) ?? []), event.t - t]);
        return !applies;
      });
    }
  }
  return times;
}

/** The input of a report. For an earlier run only the parts that its histories contain. */
export type Reported = Pick<Outcome, 'events' | 'problems' | 'excused'> & Partial<Outcome>;

/** The name under which an event of a condition, gate, slot or change is counted. */
function labelOf(event: HistoryEvent): string | undefined {
  const { e } = event;
  if (e === 'weight') return event.weight === 1 ? 'downgrades' : 'upgrades';
  if (e === 'resized') return event.accepted ? 'resizes, accepted' : 'resizes, not accepted';
  if (e === 'woken') {
    const outcome =
      event.signalled === null ? 'failed' : event.signalled ? 'signalled' : 'not signalled';
    return `condition waits, ${outcome}`;
  }
  if (e === 'signalled') return event.count === 0 ? 'signals without a waiter' : 'signals';
  if (e === 'run') return 'slot runs';
  if (e === 'queued') return 'waiters seen in a queue after the faults';
  if (e === 'counted') return 'latch counts';
  if (e === 'passed') return `${event.index === undefined ? 'latch' : 'barrier'} passed`;
  if (e === 'stopped') return `latch or barrier call failed, ${event.code}`;
  return undefined;
}

/** The lines of the report. */
export function report(outcome: Reported): string[] {
  const { events, skipped = [], means = {}, store = 'redis' } = outcome;
  const faults: Counts = new Map();
  const grants: Counts = new Map();
  const failures: Counts = new Map();
  const fair = new Map<string, boolean>();
  const others: Counts = new Map();
  for (const event of events) {
    if (event.e === 'fault' && event.phase !== 'end') count(faults, event.kind);
    if (event.e === 'force') count(faults, 'forced release');
    const label = labelOf(event);
    if (label !== undefined) count(others, label);
    if (event.e === 'ask') fair.set(event.a, event.fair);
    if (event.e === 'fail') count(failures, event.code ?? 'tryAcquire: not free');
    if (event.e === 'lost') count(failures, 'leases lost while held');
    if (event.e === 'use' && !event.accepted) count(failures, 'writes refused by the resource');
    if (event.e !== 'grant') continue;
    const process = event.p.split('.')[0] ?? '';
    count(grants, 'all');
    count(grants, `${process}, ${clientOf(store, Number(process.slice(1)))}`);
    count(grants, fair.get(event.a) === true ? 'fair' : 'default mode');
    count(grants, `key ${event.k}`);
  }
  for (const kind of skipped) count(faults, `${kind} (drawn, but not possible then)`);
  const recovered = recoveries(events);
  const rows = [...faults].map(([kind, number]) => {
    const times = recovered.get(kind);
    if (times === undefined) return [kind, `${number}`];
    const ms = (p: number): string => percentile(times, p).toFixed(0);
    return [kind, `${number}`, `${ms(50)} / ${ms(99)}`];
  });
  return [
    ...Object.entries(means).map(([name, text]) => `${name}: ${text}`),
    ...table('faults (recovery: ms to the next grant, p50 / p99)', rows),
    ...table('grants', rowsOf(grants)),
    ...table('other events', rowsOf(others)),
    ...table('failures', rowsOf(failures)),
    ...table('check results', [
      ['events', `${events.length}`],
      ['excused by memory loss', `${outcome.excused.get('amnesia') ?? 0}`],
      ['excused by a forced release', `${outcome.excused.get('force') ?? 0}`],
      ['excused by a lost turn', `${outcome.excused.get('turn') ?? 0}`],
      ...KINDS.map((kind) => [`violations: ${kind}`, `${outcome.problems.count(kind)}`]),
    ]),
  ];
}

function rowsOf(counts: Counts): string[][] {
  return [...counts].map(([name, number]) => [name, `${number}`]);
}

function table(title: string, rows: readonly (readonly string[])[]): string[] {
  const sorted = [...rows].sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  const widths = [0, 1, 2].map((column) =>
    Math.max(0, ...sorted.map((row) => (row[column] ?? '').length)),
  );
  const [first = 0, second = 0, third = 0] = widths;
  const line = ([name = '', number = '', more = '']: readonly string[]): string =>
    `  ${name.padEnd(first)}  ${number.padStart(second)}  ${more.padStart(third)}`.trimEnd();
  return ['', title, ...sorted.map(line)];
}
