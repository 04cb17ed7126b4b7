/** The report of the doctor as text. */
import type { DoctorReport, Finding } from 'holdfast';
import { colors } from './output.js';
import { table } from './table.js';
import { printable } from './words.js';

export function doctorReport({ findings, servers }: DoctorReport): string {
  const { bold } = colors();
  const rows = servers.map(({ address, clockOffset, roundTrip, version }) => [
    bold(printable(address)),
    printable(version),
    roundTrip === undefined ? 'no answer' : `${roundTrip.toFixed(1)}ms`,
    clockOffset === undefined ? '' : `${clockOffset >= 0 ? '+' : ''}${clockOffset}ms`,
  ]);
  // a database is not among them
  const examined =
    rows.length === 0 ? [] : [table(['SERVER', 'VERSION', 'ROUND TRIP', 'CLOCK'], rows)];
  if (findings.length === 0) {
    return [...examined, 'nothing found that endangers locks'].join('\n\n');
  }
  const found = findings.map((one) => [
    coloured(one),
    printable(one.code),
    printable(one.server),
    printable(one.evidence),
  ]);
  const list = table(['SEVERITY', 'CODE', 'SERVER', 'SEEN'], found);
  return [...examined, list, ...advices(findings)].join('\n\n');
}

function coloured({ severity }: Finding): string {
  const { red, yellow } = colors();
  if (severity === 'danger') return red(severity);
  return severity === 'warning' ? yellow(severity) : severity;
}

/** What each kind of finding means, once, and what to do about each. */
function advices(findings: readonly Finding[]): string[] {
  const { bold } = colors();
  const texts = new Map<string, Set<string>>();
  for (const { advice, code, message } of findings) {
    const title = `${bold(printable(code))}: ${printable(message)}`;
    texts.set(title, (texts.get(title) ?? new Set()).add(`  to do: ${printable(advice)}`));
  }
  return [...texts].map(([title, lines]) => [title, ...lines].join('\n'));
}
