/** The pictures of a result: cost against a size, and the latency of a hand-off. */
import type { FigureName, Result, Row, Table } from '../results.js';
import type { ScenarioId } from '../settings.js';
import { type Chart, drawChart, type Series } from './svg.js';

interface Picture {
  readonly scenario: ScenarioId;
  readonly file: string;
  readonly title: string;
  readonly x: string;
  readonly y: string;
  /** True if the cost differs by powers of ten. */
  readonly log: boolean;
  /** The figures whose sum is drawn. */
  readonly figures: readonly FigureName[];
}

const CPU: readonly FigureName[] = ['node cpu', 'server cpu'];

const PICTURES: readonly Picture[] = [
  {
    ...{ scenario: 'keys', file: 'keys.svg', title: 'Cost of a pair, by the number of keys' },
    x: 'loops on as many keys',
    y: 'CPU time of process and server, µs',
    ...{ figures: CPU, log: true },
  },
  {
    ...{ scenario: 'holders', file: 'holders.svg' },
    title: 'Cost of a release, by the number of holders',
    ...{ x: 'readers of one key', y: 'time of the script, µs', figures: ['release'], log: false },
  },
  {
    ...{ scenario: 'waiters', file: 'waiters.svg' },
    title: 'Cost of an acquisition, by the number of waiters',
    x: 'waiters in four processes',
    y: 'CPU time of processes and server, µs',
    ...{ figures: CPU, log: true },
  },
  {
    ...{ scenario: 'processes', file: 'processes.svg' },
    title: 'Cost of an acquisition, by the number of processes',
    x: 'processes of four tasks',
    y: 'CPU time of processes and server, µs',
    ...{ figures: CPU, log: true },
  },
];

const HAND_OFF = 'hand-off.svg';

/** File names and contents. A picture whose scenario was not measured is left out. */
export function drawPictures(result: Result): Map<string, string> {
  const drawn = new Map<string, string>();
  for (const picture of PICTURES) {
    const table = result.tables.find(({ scenario }) => scenario === picture.scenario);
    if (table !== undefined) drawn.set(picture.file, drawChart(bySize(result, picture, table)));
  }
  const handOff = result.tables.find(({ scenario }) => scenario === 'e');
  if (handOff !== undefined) drawn.set(HAND_OFF, drawChart(distribution(result, handOff)));
  return drawn;
}

/** The command under each picture, and where it was measured. */
function notes({ machine, server, date, load }: Result, { scenario, placement }: Table): string[] {
  const where = [machine.processor, placement, `load average ${load.before.toFixed(1)}`];
  return [
    `npm run bench -- --only ${scenario} --json FILE; npm run bench -- --draw FILE`,
    [date.slice(0, 10), ...where].filter((part) => part !== '').join(', '),
    `Node ${machine.node}, ${server.name} ${server.version}; compare within the picture only`,
  ];
}

const median = (row: Row, names: readonly FigureName[]): number =>
  names.reduce((sum, name) => sum + (row.figures[name]?.median ?? Number.NaN), 0);

function bySize(result: Result, picture: Picture, table: Table): Chart {
  const names = [...new Set(table.rows.map(({ variant }) => variant.name))];
  const series = names.map((name): Series => {
    const rows = table.rows.filter((row) => row.variant.name === name && row.state === 'ok');
    const points = rows.map((row) => [row.at ?? 0, median(row, picture.figures)] as const);
    return { name, points: points.filter(([, y]) => Number.isFinite(y)) };
  });
  return {
    title: picture.title,
    x: { label: picture.x, log: true },
    y: { label: picture.y, log: picture.log },
    series: series.filter(({ points }) => points.length > 0),
    notes: notes(result, table),
  };
}

function distribution(result: Result, table: Table): Chart {
  const rows = table.rows.filter(({ state, latencies }) => state === 'ok' && latencies);
  return {
    title: 'Hand-off: from a release to the next acquisition, 10 tasks',
    x: { label: 'milliseconds', log: true },
    y: { label: 'share of hand-offs up to this time, %', log: false, to: 100 },
    series: rows.map(({ variant, latencies = [] }) => ({
      name: variant.name,
      points: latencies.map(([ms, share]) => [ms, share * 100] as const),
    })),
    notes: notes(result, table),
  };
}
