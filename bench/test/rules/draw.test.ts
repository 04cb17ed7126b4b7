/** The pictures. */
import { expect, it } from 'vitest';
import { drawScale } from '../../src/draw/scale-pictures.js';
import { drawChart, label } from '../../src/draw/svg.js';
import type { Row } from '../../src/scale/measuring.js';
import type { ScaleResult } from '../../src/scale/scale.js';

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

it('draws the other stores beside each other, and no store with one size', () => {
  const row = (kind: Row['kind'], at: number, commands: number): Row => {
    return { kind, thing: 'waiter', at, cost: { commands } };
  };
  const rows = [row('quorum', 1, 5), row('quorum', 100, 0.5), row('etcd', 20, 2)];
  rows.push(row('sqlite', 1, 4), row('sqlite', 100, 0.1));
  const machine = { cores: 2, node: 'v20', clients: {} };
  const rest = { date: '2026-11-27', load: { before: 1, after: 1 }, server: 'redis' };
  const pictures = drawScale({ rows, machine, ...rest } as unknown as ScaleResult);
  expect([...pictures.keys()]).toEqual(['stores-waiters.svg']);
  const svg = pictures.get('stores-waiters.svg');
  for (const text of ['quorum', 'sqlite']) expect(svg).toContain(`>${text}<`);
  expect(svg).not.toContain('etcd');
  // 0.5 of each of 100 waiters
  expect(svg).toContain('>100<');
});
