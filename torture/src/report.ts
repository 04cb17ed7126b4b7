/** What a run shows: counts of everything that was done and that happened, and times to recover. */
import { CHECKS, type HistoryEvent } from 'holdfast-checker';
import { percentile } from 'holdfast-testkit';
import { CLIENTS } from './settings.js';
import type { Outcome } from './torture.js';

/** What is judged: by the checker of histories, and by the run. */
const KINDS = [...CHECKS, 'error', 'process'];

type Counts = Map<string, number>;

function count(counts: Counts, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** Fault by fault: from its end to the next grant, of the process that it was done to if to one. */
export function recoveries(events: readonly HistoryEvent[]): Map<string, number[]> {
  const times = new Map<string, number[]>();
  let open: { kind: string; of: string | undefined; t: number }[] = [];
  for (const event of events) {
    if (event.e === 'fault' && event.phase !== 'begin') {
      const { of } = event as { of?: string };
      // a killed process is followed by another one
      const from = event.kind === 'client killed' ? of?.split('.')[0] : of;
      open.push({ kind: event.kind, of: from, t: event.t });
    } else if (event.e === 'grant') {
      open = open.filter(({ kind, of, t }) => {
        const meant = of === undefined || event.p === of || event.p.startsWith(`${of}.`);
        if (meant) times.set(kind, [...(times.get(kind) ?? []), event.t - t]);
        return !meant;
      });
    }
  }
  return times;
}

/** What a report is made of; of an earlier run only what its histories say. */
export type Reported = Pick<Outcome, 'events' | 'problems' | 'excused'> & Partial<Outcome>;

/** What is counted of conditions, gates, slots and changes. */
function wordsFor(event: HistoryEvent): string | undefined {
  const { e } = event;
  if (e === 'weight') {
    return event.weight === 1 ? 'writers that became readers' : 'readers that became writers';
  }
  if (e === 'resized') return event.accepted ? 'permits changed' : 'permits not changed';
  if (e === 'woken') return `waits at a condition, ${event.signalled ?? 'failed'}`;
  if (e === 'signalled') return event.count === 0 ? 'signals without a wait' : 'signals';
  if (e === 'run') return 'runs of a slot';
  if (e === 'queued') return 'waiters seen in a queue, after the faults';
  if (e === 'counted') return 'counts of a latch';
  if (e === 'passed') return `passages of a ${event.index === undefined ? 'latch' : 'barrier'}`;
  if (e === 'stopped') return `latch and barrier, ${event.code}`;
  return undefined;
}

/** The whole report, as lines. */
export function report(outcome: Reported): string[] {
  const { events, skipped = [], means = {} } = outcome;
  const faults: Counts = new Map();
  const grants: Counts = new Map();
  const failures: Counts = new Map();
  const fair = new Map<string, boolean>();
  const family: Counts = new Map();
  for (const event of events) {
    if (event.e === 'fault' && event.phase !== 'end') count(faults, event.kind);
    if (event.e === 'force') count(faults, 'forced release');
    const done = wordsFor(event);
    if (done !== undefined) count(family, done);
    if (event.e === 'ask') fair.set(event.a, event.fair);
    if (event.e === 'fail') count(failures, event.code ?? 'not free (tryAcquire)');
    if (event.e === 'lost') count(failures, 'leases lost while held');
    if (event.e === 'use' && !event.accepted) count(failures, 'writes that the resource refused');
    if (event.e !== 'grant') continue;
    const process = event.p.split('.')[0] ?? '';
    count(grants, 'all');
    count(grants, `${process}, ${CLIENTS[Number(process.slice(1)) % 2]}`);
    count(grants, fair.get(event.a) === true ? 'fair' : 'default mode');
    count(grants, `key ${event.k}`);
  }
  for (const kind of skipped) count(faults, `${kind} (drawn, not possible then)`);
  const recovered = recoveries(events);
  const rows = [...faults].map(([kind, number]) => {
    const times = recovered.get(kind);
    if (times === undefined) return [kind, `${number}`];
    const ms = (p: number): string => percentile(times, p).toFixed(0);
    return [kind, `${number}`, `${ms(50)} / ${ms(99)}`];
  });
  return [
    ...Object.entries(means).map(([what, how]) => `${what}: ${how}`),
    ...table('faults (recovery: ms to the next grant, p50 / p99)', rows),
    ...table('grants', rowsOf(grants)),
    ...table('besides', rowsOf(family)),
    ...table('failures', rowsOf(failures)),
    ...table('judgement', [
      ['events', `${events.length}`],
      ['excused by a loss of memory', `${outcome.excused.get('amnesia') ?? 0}`],
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
