/** The terminal output of a trial. */
import type { Trial, Verdict } from '../trial.js';

/** One row for each figure: the name left-aligned, the number right-aligned. */
export function table(figures: Verdict['figures']): string {
  const rows = Object.entries(figures).map(([name, value]) => [name, show(value)] as const);
  const names = Math.max(0, ...rows.map(([name]) => name.length));
  const values = Math.max(0, ...rows.map(([, value]) => value.length));
  return rows
    .map(([name, value]) => `  ${name.padEnd(names)}  ${value.padStart(values)}`)
    .join('\n');
}

/** The last line: the verdict. */
export function verdictLine({ name, claim }: Trial, { passed }: Verdict): string {
  return `${passed ? 'PASS' : 'FAIL'} ${name}: ${claim}`;
}

function show(value: number | string): string {
  if (typeof value === 'string') return value;
  if (Number.isInteger(value)) return value.toLocaleString('en');
  return value.toLocaleString('en', { maximumFractionDigits: Math.abs(value) < 10 ? 3 : 1 });
}
