/** The pictures. */
import { expect, it } from 'vitest';
import { drawChart, label } from '../../src/draw/svg.js';

const chart = {
  title: 'Cost < price',
  x: { label: 'keys', log: true },
  y: { label: 'µs', log: false },
  notes: ['npm run bench'],
};

it('draws each series once, with its name, and escapes text', () => {
  const series = ['bare', 'ours'].map((name) => ({
    name,
    points: [[1, 10] as const, [100, 40] as const],
  }));
  const svg = drawChart({ ...chart, series });
  expect(svg).toContain('Cost &lt; price');
  expect(svg.match(/stroke-width="2"/g)).toHaveLength(4);
  for (const text of ['bare', 'ours', 'npm run bench', '>100<', '>40<']) {
    expect(svg).toContain(text);
  }
  expect(svg).not.toContain('NaN');
});

it('places the points between the axes', () => {
  const points = [[1, 0] as const, [10, 20] as const, [100, 40] as const];
  const svg = drawChart({ ...chart, series: [{ name: 'ours', points }] });
  const circles = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(
    ([, x, y]) => [Number(x), Number(y)] as const,
  );
  const [first, middle, last] = circles as [[number, number], [number, number], [number, number]];
  expect(middle[0]).toBeCloseTo((first[0] + last[0]) / 2, 0);
  expect(middle[1]).toBeCloseTo((first[1] + last[1]) / 2, 0);
  expect(last[1]).toBeLessThan(first[1]);
});

it('refuses a picture without points', () => {
  expect(() => drawChart({ ...chart, series: [] })).toThrow('no points');
});

it('writes numbers without needless digits', () => {
  expect([0.001, 2.5, 10_000].map(label)).toEqual(['0.001', '2.5', '10,000']);
});
