/** The chart of a scenario: for each worker a bar over time, and its figures. Pure. */
import { type LocalQueue, line, type Part, type Style, styled } from './line.js';
import { type Phase, phaseAt, type Row, type ScenarioState } from './state.js';
import { ms, seconds } from './text.js';

/** Columns before the bars. */
export const MARGIN = 12;
const REFUSED = '✗';

const CELLS: Record<Phase, Part> = {
  waits: styled('dim', '░'),
  holds: styled('green', '█'),
  dead: styled('red', '╌'),
  paused: styled('yellow', '▒'),
  resumed: styled('yellow', '▒'),
  finished: styled('plain', ' '),
  up: styled('cyan', '━'),
  down: styled('red', '╌'),
};

const BADGES: Record<Phase, Part> = {
  waits: styled('dim', '·'),
  holds: styled('green', '▶'),
  dead: styled('red', REFUSED),
  paused: styled('yellow', '‖'),
  resumed: styled('yellow', '▶'),
  finished: styled('green', '✓'),
  up: styled('cyan', '●'),
  down: styled('red', REFUSED),
};

const MEANINGS: Record<Phase, string> = {
  waits: 'waits',
  holds: 'holds the lock',
  dead: 'killed, its lease continues',
  paused: 'paused',
  resumed: '',
  finished: '',
  up: 'server runs',
  down: 'server killed',
};

// the figures, with the space before them
const FENCE = 17;
const WAITED = 7;
const HAND_OFF = 9;
const RENEWED = 8;
const WIDEST_CHART = 60;
const AXIS_STEPS_MS = [500, 1000, 2000, 5000, 10_000];
/** The least number of cells from one label to the next. */
const AXIS_GAP = 4.8;

/** The axis and the rows, with headings. */
export function chart(state: ScenarioState, now: number, columns: number): LocalQueue[] {
  const width = Math.min(columns - MARGIN - FENCE - WAITED - HAND_OFF - RENEWED, WIDEST_CHART);
  const span = Math.max(state.info.span, now - state.startedAt);
  const headings = [
    'fence'.padStart(FENCE),
    'waited'.padStart(WAITED),
    'hand-off'.padStart(HAND_OFF),
    'renewed'.padStart(RENEWED),
  ];
  return [
    line(' '.repeat(MARGIN), styled('dim', axis(span, width) + headings.join(''))),
    ...state.rows.map((row) => {
      const badge = badgeOf(row, now);
      const cells = bar(state, row, now, span, width);
      return line(' ', badge, ` ${row.name}`.padEnd(MARGIN - 2), ...cells, figures(row));
    }),
  ];
}

/** The meaning of the symbols. */
export function legend(state: ScenarioState): LocalQueue {
  const shown = state.info.legend;
  const parts = shown.flatMap((phase) => [CELLS[phase], styled('dim', ` ${MEANINGS[phase]}   `)]);
  const refused = [styled('red', REFUSED), styled('dim', ' refused by the resource')];
  return line(' ', ...parts, ...(shown.includes('paused') ? refused : []));
}

function badgeOf(row: Row, now: number): Part {
  if (row.phases.some(({ phase }) => phase === 'dead')) return BADGES.dead;
  if (row.refusedAt !== undefined) return styled('red', REFUSED);
  const phase = phaseAt(row, now);
  return phase === undefined ? styled('plain', ' ') : BADGES[phase];
}

function bar(state: ScenarioState, row: Row, now: number, span: number, width: number): Part[] {
  const parts: Part[] = [];
  const cell = span / width;
  const add = ({ style, text }: { style: Style; text: string }): void => {
    const last = parts.at(-1);
    if (last?.style === style) parts[parts.length - 1] = styled(style, last.text + text);
    else parts.push(styled(style, text));
  };
  for (let index = 0; index < width; index++) {
    const from = state.startedAt + index * cell;
    // a cell shows the phase at its middle, and the newest cell the current phase
    const phase = from <= now ? phaseAt(row, Math.min(from + cell / 2, now)) : undefined;
    const refused = row.refusedAt ?? Number.NaN;
    if (refused >= from && refused < from + cell) add(styled('red', REFUSED));
    else add(phase === undefined ? CELLS.finished : CELLS[phase]);
  }
  return parts;
}

function figures(row: Row): Part {
  const { fence, waited, handOff, renewals } = row;
  const cells = [
    (fence === undefined ? '' : String(fence)).padStart(FENCE),
    (waited === undefined ? '' : seconds(waited)).padStart(WAITED),
    (handOff === undefined ? '' : ms(handOff)).padStart(HAND_OFF),
    (fence === undefined ? '' : `${renewals}×`).padStart(RENEWED),
  ];
  return styled('plain', cells.join(''));
}

function axis(span: number, width: number): string {
  const cell = span / width;
  const step = AXIS_STEPS_MS.find((each) => each / cell >= AXIS_GAP) ?? 20_000;
  let text = '';
  for (let time = 0; time < span; time += step) {
    const label = time === 0 ? '0 s' : String(time / 1000);
    const at = Math.round(time / cell);
    if (at + label.length <= width) text = text.padEnd(at) + label;
  }
  return text.padEnd(width);
}
