/**
 * Parses histories written by hand. Each line is an event:
 *
 *     12 p1 ask a1 wait=50 fair cap=2 weight=2 owner=o     14 p1 grant a1 7
 *     15 p1 hold a1                                        16 p1 release a1
 *     17 p1 released a1 freed                              18 p2 fail a2 HOLDFAST_TIMEOUT
 *
 * A latch and a barrier are of size 2: `count g1 2`, `counted g1 0`, `await g2 barrier`,
 * `passed g2 generation=1 index=0`, `stopped g2 HOLDFAST_TIMEOUT`.
 *
 * The key is `k`, the condition `c`. The id of an attempt `a1` is `id-a1`. The `end` event is
 * added.
 */
import { ALL, type HistoryEvent, parseLine, sorted, violations } from '../../src/index.js';

export function parseHistory(text: string): HistoryEvent[] {
  const lines = text.split('\n').map((line) => line.trim());
  const events = lines.filter((line) => line !== '').map(event);
  const last = Math.max(0, ...events.map(({ t }) => t));
  return sorted([...events, event(`${last + 1} - end`)]);
}

/** The violations in a history, as `check` or `check (excused)`, each once. */
export function found(text: string): string[] {
  const names = violations(parseHistory(text), ALL).map(
    ({ check, excused }) => `${check}${excused ? ' (excused)' : ''}`,
  );
  return [...new Set(names)].sort();
}

function event(line: string): HistoryEvent {
  const [t, p, e = '', ...words] = line.split(/ +/);
  const at = { t: Number(t), p, e };
  return parseLine(JSON.stringify({ ...at, ...fields(e, words) }), line);
}

function fields(e: string, [first = '', second, ...rest]: string[]): object {
  const about = { k: 'k', a: first };
  const call = { k: 'k', g: first };
  switch (e) {
    case 'ask':
      return { ...about, weight: 1, capacity: 1, fair: false, ...options([second, ...rest]) };
    case 'queued':
      return { ...about, ticket: Number(second) };
    case 'grant':
      return { ...about, id: `id-${first}`, fence: Number(second), ...options(rest) };
    case 'fail':
      return { ...about, code: second ?? null };
    case 'released':
      return { ...about, outcome: second };
    case 'use':
      return { ...about, fence: Number(second), accepted: true, ...options(rest) };
    case 'weight':
      return {
        ...{ ...about, weight: Number(second), fence: Number(rest[0]) },
        ...options(rest.slice(1)),
      };
    case 'park':
    case 'signal':
      return { ...about, c: 'c' };
    case 'woken':
      return { ...about, c: 'c', signalled: second === undefined ? null : second === 'true' };
    case 'signalled':
      return { ...about, c: 'c', count: second === undefined ? null : Number(second) };
    case 'run':
      return { ...about, slot: second, retention: 1000 };
    case 'count':
      return { ...call, size: 2, by: Number(second ?? 1) };
    case 'counted':
      return { ...call, left: Number(second) };
    case 'await':
      return { ...call, gate: second, size: 2 };
    case 'passed':
      return { ...call, ...options([second, ...rest]) };
    case 'stopped':
      return { ...call, code: second };
    case 'resized':
      return { k: 'k', capacity: Number(first), accepted: second !== 'refused' };
    case 'hold':
    case 'release':
    case 'lost':
      return about;
    case 'force':
    case 'forced':
      return { k: 'k' };
    case 'resize':
      return { k: 'k', capacity: Number(first) };
    case 'fault':
      return { kind: first, phase: second };
    case 'seen':
      return seen([first, second, ...rest]);
    default:
      return options([first, second, ...rest]);
  }
}

function options(words: readonly (string | undefined)[]): object {
  const names: Record<string, string> = { cap: 'capacity' };
  const pairs = words.filter((word) => word !== undefined && word !== '') as string[];
  return Object.fromEntries(
    pairs.map((word) => {
      const [name = '', value] = word.split('=');
      if (value === undefined) return [name, true];
      const number = Number(value);
      return [
        names[name] ?? name,
        value === 'false' ? false : Number.isNaN(number) ? value : number,
      ];
    }),
  );
}

/** Parses `holder:a1:7` and `waiter:a2`. */
function seen(words: readonly (string | undefined)[]): object {
  const parts = words.filter((word) => word !== undefined && word !== '').map((w) => w?.split(':'));
  const of = (kind: string): string[][] => parts.filter((part) => part?.[0] === kind) as string[][];
  return {
    k: 'k',
    holders: of('holder').map(([, a, fence]) => ({
      id: `id-${a}`,
      fence: Number(fence),
      weight: 1,
    })),
    last: words.includes('last'),
    waiters: of('waiter').map(([, a]) => `id-${a}`),
  };
}
