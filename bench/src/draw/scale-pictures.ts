/** The pictures of `npm run bench -- --scale`: the cost of one, by their number, and by store. */
import type { ScaleResult } from '../scale/scale.js';
import type { Kind } from '../scale/sites.js';
import type { Cost, Thing } from '../scale/measuring.js';
import { type Chart, drawChart, type Series } from './svg.js';

interface Picture {
  readonly file: string;
  readonly title: string;
  readonly thing: Thing;
  /** By default one server. */
  readonly kind?: Kind;
  readonly x: string;
  readonly y: string;
  readonly lines: readonly (readonly [name: string, value: (cost: Cost, at: number) => number])[];
}

const CPU: Picture['lines'] = [
  ['server, µs', ({ server = Number.NaN }) => server],
  ['client, µs', ({ client = Number.NaN }) => client],
  ['calls in scripts', ({ inner = Number.NaN }) => inner],
];

const PICTURES: readonly Picture[] = [
  {
    ...{ file: 'scale-renewals.svg', title: 'Cost of the renewal of a lease', thing: 'renewal' },
    ...{ x: 'leases of one process', y: 'µs of processor time, and calls', lines: CPU },
  },
  {
    ...{ file: 'scale-hand-offs.svg', title: 'Cost of a hand-off', thing: 'hand-off' },
    ...{ x: 'processes that contend for one key', y: 'µs of processor time, and calls' },
    lines: CPU,
  },
  {
    ...{ file: 'scale-waiters.svg', title: 'Idle waiters of one key', thing: 'waiter' },
    ...{ x: 'waiters, each in an instance of its own', y: 'of all of them, in a second' },
    lines: [
      ['polls', ({ commands = Number.NaN }, at) => commands * at],
      ['server, ms', ({ server = Number.NaN }, at) => (server * at) / 1000],
      ['clients, ms', ({ client = Number.NaN }, at) => (client * at) / 1000],
    ],
  },
  {
    ...{ file: 'scale-process.svg', title: 'Calls of one process that wait for one key' },
    ...{ thing: 'process waiter', x: 'calls that wait', y: 'of all of them, in a second' },
    lines: [
      ['polls', ({ commands = Number.NaN }, at) => commands * at],
      ['calls in scripts', ({ inner = Number.NaN }, at) => inner * at],
      ['client, ms', ({ client = Number.NaN }, at) => (client * at) / 1000],
    ],
  },
  {
    ...{ file: 'scale-masters.svg', title: 'Cost of a free lock on a cluster', kind: 'cluster' },
    ...{ thing: 'pair of masters', x: 'masters', y: 'of an acquisition and its release' },
    lines: CPU,
  },
];

/** Counts of the other stores: they do not depend on the load of the machine. */
interface StorePicture extends Omit<Picture, 'kind' | 'lines'> {
  readonly value: (commands: number, at: number) => number;
}

const each = (commands: number): number => commands;
const ofAll = (commands: number, at: number): number => commands * at;
const STORE_PICTURES: readonly StorePicture[] = [
  {
    ...{ file: 'stores-renewals.svg', title: 'Renewal of a lease', thing: 'renewal', value: each },
    ...{ x: 'leases of one process', y: 'commands, transactions or requests for each' },
  },
  {
    ...{ file: 'stores-hand-offs.svg', title: 'Hand-off', thing: 'hand-off', value: each },
    x: 'processes that contend for one key',
    y: 'commands, transactions or requests for each',
  },
  {
    ...{ file: 'stores-waiters.svg', title: 'Idle waiters of one key', thing: 'waiter' },
    ...{ x: 'waiters, each in an instance of its own', value: ofAll },
    y: 'commands, transactions or requests of all, in a second',
  },
];

export function drawScale(result: ScaleResult): Map<string, string> {
  const drawn = new Map<string, string>();
  for (const { value, ...picture } of STORE_PICTURES) {
    const rows = result.rows.filter(({ kind, thing }) => kind !== 'one' && thing === picture.thing);
    const kinds = [...new Set(rows.map(({ kind }) => kind))];
    const series = kinds.map((name): Series => {
      const own = rows.filter(({ kind }) => kind === name);
      return { name, points: own.map(({ at, cost }) => [at, value(cost.commands ?? 0, at)]) };
    });
    const several = series.filter(({ points }) => points.length > 1);
    if (several.length > 0) drawn.set(picture.file, drawChart(chartOf(result, picture, several)));
  }
  for (const picture of PICTURES) {
    const { kind: of = 'one' } = picture;
    const rows = result.rows.filter(({ kind, thing }) => kind === of && thing === picture.thing);
    if (rows.length < 2) continue;
    const series = picture.lines.map(([name, value]): Series => {
      return { name, points: rows.map(({ at, cost }) => [at, value(cost, at)]) };
    });
    drawn.set(picture.file, drawChart(chartOf(result, picture, series)));
  }
  return drawn;
}

function chartOf(
  result: ScaleResult,
  { title, x, y }: Pick<Picture, 'title' | 'x' | 'y'>,
  series: readonly Series[],
): Chart {
  const { date, load, machine, server } = result;
  // a cost within the noise of the servers at rest has no place on a logarithmic axis
  const seen = series.map(({ name, points }) => ({
    name,
    points: points.filter(([, at]) => at > 0),
  }));
  return {
    title,
    x: { label: x, log: true },
    y: { label: y, log: true },
    series: seen.filter(({ points }) => points.length > 0),
    notes: [
      'npm run bench -- --scale --json FILE; npm run bench -- --draw FILE',
      `${date.slice(0, 10)}, ${machine.cores} cores, load average ${load.before.toFixed(1)}`,
      `Node ${machine.node}, ${server}, ioredis ${machine.clients['ioredis'] ?? ''}`,
    ],
  };
}
