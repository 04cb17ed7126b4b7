/** The demo's picture: what it shows of a state, and that it fits. */
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import type { News } from '../../../examples/src/demo/reports.js';
import { paint, plain } from '../../../examples/src/demo/show/line.js';
import { Scene } from '../../../examples/src/demo/show/scene.js';
import { frame } from '../../../examples/src/demo/show/view.js';
import { describe as inWords } from '../../../examples/src/demo/show/words.js';

const START = 1000;
const FENCE = 1_795_247_551_000_000;

function scene(): Scene {
  const played = new Scene(
    {
      title: 'An act',
      look: [],
      span: 5200,
      players: ['worker 1', 'worker 2', 'worker 3'],
      ttl: 2000,
      notes: 3,
      legend: ['waits', 'holds', 'dead', 'paused'],
    },
    START,
  );
  const tell = (at: number, worker: string, news: News): void => {
    const report = { ...news, at: START + at, worker };
    played.apply(report);
    const text = inWords(report, played);
    if (text !== undefined) played.notes.push(text);
  };
  tell(0, 'worker 1', { what: 'waits' });
  tell(0, 'worker 1', { what: 'holds', fence: FENCE, left: 2000 });
  tell(0, 'worker 2', { what: 'waits' });
  tell(800, 'worker 3', { what: 'waits' });
  tell(1000, 'worker 1', { what: 'killed', how: 'is killed', leaseEnds: START + 2000 });
  tell(2004, 'worker 2', { what: 'holds', fence: FENCE + 2_004_000, left: 2000 });
  tell(2600, 'worker 2', { what: 'renewed', left: 2000 });
  tell(3000, 'worker 2', { what: 'releases' });
  tell(3001.5, 'worker 3', { what: 'holds', fence: FENCE + 3_001_000, left: 2000 });
  return played;
}

it('shows who waits, holds, is dead, with the figures', () => {
  const lines = frame(scene(), START + 4000, 79).map((line) => plain(line).trimEnd());
  expect(lines).toEqual([
    '            0 s  1    2    3    4    5            fence waited hand-off renewed',
    ' ✗ worker 1 █████╌╌╌╌╌                 1795247551000000 0.00 s               0×',
    ' ✓ worker 2 ░░░░░░░░░░█████            1795247553004000 2.00 s               1×',
    ' ▶ worker 3     ░░░░░░░░░░░██████      1795247554001000 2.20 s  1.50 ms      0×',
    " lease      ━━━━━━━━━━────────── 1.0 s left of worker 3's",
    '',
    '   2.00 s  worker 2 holds the lock, fence 1795247553004000, waited 2.00 s',
    '   3.00 s  worker 2 releases, after 1 renewal',
    '   3.00 s  worker 3 holds the lock, fence 1795247554001000, hand-off 1.50 ms',
    '',
    ' ░ waits   █ holds the lock   ╌ dead, its lease runs on   ▒ stands still' +
      '   ✗ refused by the resource',
  ]);
});

it('keeps its height, and is as wide as the terminal at most', () => {
  const played = scene();
  for (const columns of [79, 99, 200]) {
    for (let at = 0; at <= 8000; at += 250) {
      const lines = frame(played, START + at, columns);
      expect(lines).toHaveLength(11);
      const widths = lines.map((line) => stripVTControlCharacters(paint(line, columns)).length);
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    }
  }
});
