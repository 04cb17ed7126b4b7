/** The pictures of `npm run bench -- --scale`: the cost of one, by their number. */
import type { ScaleResult } from '../scale/scale.js';
import type { Kind } from '../scale/sites.js';
import type { Cost, Row, Thing } from '../scale/measuring.js';
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

export function drawScale(result: ScaleResult): Map<string, string> {
  const drawn = new Map<string, string>();
  for (const picture of PICTURES) {
    const { kind: of = 'one' } = picture;
    const rows = result.rows.filter(({ kind, thing }) => kind === of && thing === picture.thing);
    if (rows.length > 1) drawn.set(picture.file, drawChart(chartOf(result, picture, rows)));
  }
  return drawn;
}

function chartOf(result: ScaleResult, picture: Picture, rows: readonly Row[]): Chart {
  const { date, load, machine, server } = result;
  const series = picture.lines.map(([name, value]): Series => {
    const points = rows.map(({ at, cost }) => [at, value(cost, at)] as const);
    // a cost within the noise of the servers at rest has no place on a logarithmic axis
    return { name, points: points.filter(([, y]) => y > 0) };
  });
  return {
    title: picture.title,
    x: { label: picture.x, log: true },
    y: { label: picture.y, log: true },
    series: series.filter(({ points }) => points.length > 0),
    notes: [
      'npm run bench -- --scale --json FILE; npm run bench -- --draw FILE',
      `${date.slice(0, 10)}, ${machine.cores} cores, load average ${load.before.toFixed(1)}`,
      `Node ${machine.node}, ${server}, ioredis ${machine.clients['ioredis'] ?? ''}`,
    ],
  };
}
