/** A table of results as text. */
import { type FigureName, type Row, type Table, UNITS } from './results.js';

/** The most columns beside the main figure that fit a line. */
const NAME_WIDTH = 34;

export function printTable(table: Table): void {
  const { scenario, title, placement, rounds, rows, main, targets } = table;
  const noisy = rounds.filter((round) => round.noisy).length;
  const kept = `${rounds.length - noisy} of ${rounds.length} rounds`;
  console.log(`\n${scenario}  ${title} (${placement}; ${kept})`);
  const lead = `${main}${UNITS[main] === '' ? '' : `, ${UNITS[main]}`}`;
  console.log(`   ${''.padEnd(NAME_WIDTH)}${lead.padStart(12)}  spread`);
  for (const row of rows) printRow(row, main);
  if (noisy > 0) {
    const times = rounds.map(
      ({ calibration, noisy: dropped }) => `${calibration.toFixed(1)}${dropped ? ' dropped' : ''}`,
    );
    console.log(`   calibration of each round, ms: ${times.join(', ')}`);
  }
  for (const { what, value, least, most, met } of targets) {
    const limit = least === undefined ? `at most ${most}` : `at least ${least}`;
    console.log(`   target ${limit}: ${what}: ${show(value)}: ${met ? 'met' : 'NOT MET'}`);
  }
}

function printRow(row: Row, main: FigureName): void {
  const { variant, at, state, note, figures, against, tasks, violations, fence } = row;
  const name = `${variant.name}${at === undefined ? '' : ` × ${at}`}`.padEnd(NAME_WIDTH);
  const figure = figures[main];
  const parts: string[] = [];
  if (figure !== undefined) {
    const { median, min, max } = figure;
    parts.push(`${show(median).padStart(12)}  ${`${show(min)}–${show(max)}`.padEnd(16)}`);
  }
  if (state !== 'ok') parts.push(state.toUpperCase());
  if (note !== undefined) parts.push(note.split('\n')[0] as string);
  if (against !== undefined && against.name !== variant.name) {
    const { median, min, max } = against.ratio;
    parts.push(`${show(median)} (${show(min)}–${show(max)}) of ${against.name}`);
  }
  if (tasks !== undefined) parts.push(`tasks ${tasks.fewest}–${tasks.most}`);
  if (violations !== undefined) parts.push(`violations ${violations}`);
  if (fence !== undefined) parts.push(fence ? 'fence' : 'no fence');
  console.log(`   ${name}${parts.join('  ')}`);
  const more = (Object.keys(figures) as FigureName[]).filter((one) => one !== main);
  const list = more.map((one) => `${one} ${show(figures[one]?.median)}${unit(one)}`);
  if (list.length > 0) console.log(`     ${list.join('; ')}`);
}

const unit = (name: FigureName): string => (UNITS[name] === '' ? '' : ` ${UNITS[name]}`);

function show(value = Number.NaN): string {
  if (Number.isNaN(value)) return '–';
  if (value === 0 || value >= 1000) return value.toFixed(0);
  return value >= 100 ? value.toFixed(1) : value >= 0.1 ? value.toFixed(2) : value.toPrecision(2);
}
