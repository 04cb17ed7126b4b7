/** The demo's chart: its content for a given state, and its size. */
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import type { ReportBody } from '../src/demo/reports.js';
import { paint, plain } from '../src/demo/display/line.js';
import { ScenarioState } from '../src/demo/display/state.js';
import { frame } from '../src/demo/display/frame.js';
import { describe as eventText } from '../src/demo/display/text.js';

const START = 1000;
const FENCE = 1_795_247_551_000_000;

function scenarioState(): ScenarioState {
  const state = new ScenarioState(
    {
      title: 'A scenario',
      intro: [],
      span: 5200,
      workers: ['worker 1', 'worker 2', 'worker 3'],
      ttl: 2000,
      notes: 3,
      legend: ['waits', 'holds', 'dead', 'paused'],
    },
    START,
  );
  const report = (at: number, worker: string, body: ReportBody): void => {
    const full = { ...body, at: START + at, worker };
    state.apply(full);
    const text = eventText(full, state);
    if (text !== undefined) state.notes.push(text);
  };
  report(0, 'worker 1', { what: 'waits' });
  report(0, 'worker 1', { what: 'holds', fence: FENCE, remaining: 2000 });
  report(0, 'worker 2', { what: 'waits' });
  report(800, 'worker 3', { what: 'waits' });
  report(1000, 'worker 1', { what: 'killed', how: 'is killed', leaseEnds: START + 2000 });
  report(2004, 'worker 2', { what: 'holds', fence: FENCE + 2_004_000, remaining: 2000 });
  report(2600, 'worker 2', { what: 'renewed', remaining: 2000 });
  report(3000, 'worker 2', { what: 'releases' });
  report(3001.5, 'worker 3', { what: 'holds', fence: FENCE + 3_001_000, remaining: 2000 });
  return state;
}

it('shows waiting, holding and killed workers with their figures', () => {
  const lines = frame(scenarioState(), START + 4000, 79).map((line) => plain(line).trimEnd());
  expect(lines).toEqual([
    '            0 s  1    2    3    4    5            fence waited hand-off renewed',
    ' ✗ worker 1 █████╌╌╌╌╌                 1795247551000000 0.00 s               0×',
    ' ✓ worker 2 ░░░░░░░░░░█████            1795247553004000 2.00 s               1×',
    ' ▶ worker 3     ░░░░░░░░░░░██████      1795247554001000 2.20 s  1.50 ms      0×',
    " lease      ━━━━━━━━━━────────── 1.0 s left on worker 3's lease",
    '',
    '   2.00 s  worker 2 holds the lock, fence 1795247553004000, waited 2.00 s',
    '   3.00 s  worker 2 releases, after 1 renewal',
    '   3.00 s  worker 3 holds the lock, fence 1795247554001000, hand-off 1.50 ms',
    '',
    ' ░ waits   █ holds the lock   ╌ killed, its lease continues   ▒ paused' +
      '   ✗ refused by the resource',
  ]);
});

it('keeps its height and does not exceed the terminal width', () => {
  const state = scenarioState();
  for (const columns of [79, 99, 200]) {
    for (let at = 0; at <= 8000; at += 250) {
      const lines = frame(state, START + at, columns);
      expect(lines).toHaveLength(11);
      const widths = lines.map((line) => stripVTControlCharacters(paint(line, columns)).length);
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    }
  }
});
