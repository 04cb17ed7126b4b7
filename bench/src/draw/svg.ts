/** A line chart as SVG text: for READMEs, so without scripts, fonts or colours of the viewer. */

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Chart {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Lines under the chart: the command, the machine. */
  readonly notes: readonly string[];
}

export interface Axis {
  readonly label: string;
  /** Logarithmic, or linear from 0. */
  readonly log: boolean;
  /** The highest value; by default that of the data. */
  readonly to?: number;
}

const WIDTH = 740;
const HEIGHT = 420;
const BOX = { left: 76, right: WIDTH - 230, top: 48, bottom: HEIGHT - 96 };
const TICKS = 5;

/** Colours that colour-blind readers tell apart (Okabe and Ito); dashes repeat the difference. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'];
const DASHES = ['', '6 3', '2 3', '8 3 2 3'];

interface Scale {
  readonly place: (value: number) => number;
  readonly ticks: readonly number[];
}

function scaleOf(axis: Axis, values: readonly number[], from: number, to: number): Scale {
  const most = axis.to ?? Math.max(...values);
  if (!axis.log) {
    const step = niceStep(most / TICKS);
    const top = axis.to ?? Math.ceil(most / step) * step;
    const count = Math.round(top / step);
    return {
      place: (value) => from + ((to - from) * value) / top,
      ticks: Array.from({ length: count + 1 }, (_, index) => index * step),
    };
  }
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(most)));
  return {
    place: (value) => from + ((to - from) * (Math.log10(value) - low)) / (high - low),
    ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
  };
}

/** The least of 1, 2, 5, 10, 20, … that is not below `raw`. */
function niceStep(raw: number): number {
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((one) => one * power >= raw * 0.999) ?? 10;
  return factor * power;
}

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function text(x: number, y: number, words: string, more = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}"${more}>${escape(words)}</text>`;
}

/** A number without needless digits: 0.001, 2.5, 10,000. */
export function label(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en-US', { maximumFractionDigits: 6 });
}

/** Throws if there is nothing to draw. */
export function drawChart(chart: Chart): string {
  const points = chart.series.flatMap((series) => series.points);
  if (points.length === 0) throw new Error(`${chart.title}: no points`);
  const x = scaleOf(
    chart.x,
    points.map(([value]) => value),
    BOX.left,
    BOX.right,
  );
  const y = scaleOf(
    chart.y,
    points.map(([, value]) => value),
    BOX.bottom,
    BOX.top,
  );
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img"`,
    `  width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${escape(chart.title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(BOX.left, 26, chart.title, ' font-size="16" font-weight="bold"'),
    ...grid(x, y),
    text((BOX.left + BOX.right) / 2, BOX.bottom + 36, chart.x.label, ' text-anchor="middle"'),
    text(BOX.left, BOX.top - 8, chart.y.label, ' text-anchor="start" fill="#444444"'),
    ...chart.series.flatMap((series, index) => drawSeries(series, index, x, y)),
    ...chart.notes.map((note, index) =>
      text(BOX.left, BOX.bottom + 58 + 16 * index, note, ' font-size="11" fill="#444444"'),
    ),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

function grid(x: Scale, y: Scale): string[] {
  const at = (px: number, py: number): string => `${px.toFixed(1)} ${py.toFixed(1)}`;
  const line = (x1: number, y1: number, x2: number, y2: number): string =>
    `<path d="M${at(x1, y1)}L${at(x2, y2)}" stroke="#dddddd"/>`;
  return [
    ...x.ticks.flatMap((tick) => [
      line(x.place(tick), BOX.top, x.place(tick), BOX.bottom),
      text(x.place(tick), BOX.bottom + 18, label(tick), ' text-anchor="middle"'),
    ]),
    ...y.ticks.flatMap((tick) => [
      line(BOX.left, y.place(tick), BOX.right, y.place(tick)),
      text(BOX.left - 8, y.place(tick) + 4, label(tick), ' text-anchor="end"'),
    ]),
  ];
}

function drawSeries({ name, points }: Series, index: number, x: Scale, y: Scale): string[] {
  const colour = COLOURS[index % COLOURS.length] as string;
  const dash = DASHES[index % DASHES.length] as string;
  const style = `stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}" fill="none"`;
  const places = points.map(([px, py]) => `${x.place(px).toFixed(1)} ${y.place(py).toFixed(1)}`);
  const row = BOX.top + 8 + 20 * index;
  return [
    `<path d="M${places.join('L')}" ${style}/>`,
    ...(points.length > 12
      ? []
      : places.map((place) => {
          const [cx, cy] = place.split(' ');
          return `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`;
        })),
    `<path d="M${BOX.right + 16} ${row}L${BOX.right + 44} ${row}" ${style}/>`,
    text(BOX.right + 50, row + 4, name),
  ];
}
