/** Counts the events and violations of a history for the printed table. */
import type { HistoryEvent } from './format.js';
import { CHECKS, type CheckName, type Violation } from './run-checks.js';

/** Number of violations of each check that are printed with their text. */
const SHOWN = 5;

export class Counts {
  readonly #events = new Map<string, number>();
  readonly #faults = new Map<string, number>();
  readonly #keys = new Set<string>();
  readonly #violations = new Map<CheckName, { counted: number; excused: number }>();
  readonly shown: Violation[] = [];
  readonly #shown = new Map<CheckName, number>();
  total = 0;
  failed = 0;

  see(event: HistoryEvent): void {
    this.total += 1;
    add(this.#events, event.e);
    if (event.e === 'fault' && event.phase !== 'end') add(this.#faults, event.kind);
    if (event.e === 'ask') this.#keys.add(event.k);
  }

  found(violation: Violation): void {
    const { check, excused } = violation;
    const count = this.#violations.get(check) ?? { counted: 0, excused: 0 };
    this.#violations.set(check, count);
    if (excused) {
      count.excused += 1;
      return;
    }
    count.counted += 1;
    this.failed += 1;
    add(this.#shown, check);
    if ((this.#shown.get(check) as number) <= SHOWN) this.shown.push(violation);
  }

  /** The lines of the table. */
  table(): string[] {
    const count = (name: string): number => this.#events.get(name) ?? 0;
    const rows: [string, string][] = [
      ['events', String(this.total)],
      ['keys', String(this.#keys.size)],
      ['asks', String(count('ask'))],
      ['grants', String(count('grant'))],
      ['fails', String(count('fail'))],
      ['lost', String(count('lost'))],
      ['crashes', String(count('crash'))],
      ['amnesias', String(count('amnesia'))],
    ];
    for (const [kind, number] of this.#faults) rows.push([`fault ${kind}`, String(number)]);
    for (const check of CHECKS) {
      const { counted, excused } = this.#violations.get(check) ?? { counted: 0, excused: 0 };
      const extra = excused > 0 ? ` (and ${excused} excused)` : '';
      rows.push([`violations: ${check}`, `${counted}${extra}`]);
    }
    const width = Math.max(...rows.map(([name]) => name.length));
    return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  }
}

function add<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
