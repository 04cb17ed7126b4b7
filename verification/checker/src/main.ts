/**
 * `npm run check-history -- FILE...` checks histories. It exits with 1 if one has a violation, and
 * with 2 if one cannot be read. `--make N FILE` writes a good history of N grants for measurements.
 */
import { argv } from 'node:process';
import { parseArgs } from 'node:util';
import { ALL } from './checks/all.js';
import { Counts } from './count.js';
import { generate } from './generate.js';
import { FormatError, type HistoryEvent } from './format.js';
import { History, readEvents } from './history.js';
import { inOrder } from './in-order.js';
import { runChecks } from './run-checks.js';
import { time } from './text.js';

const USAGE = `npm run check-history -- [--merge] FILE...
npm run check-history -- --make N FILE

  --merge   the files are parts of one history, for example of several processes
  --make    write a good history of N grants for measurements
`;

/** Prints counts and violations of a history; returns true if there is no violation. */
function check(title: string, files: readonly string[]): boolean {
  const counts = new Counts();
  const events = inOrder(files.map((file) => readEvents(file)));
  runChecks(counted(events, counts), ALL, (violation) => counts.found(violation));
  console.log(title);
  for (const line of counts.table()) console.log(`  ${line}`);
  for (const { check: name, t, text } of counts.shown) {
    console.log(`  ${name} at ${time(t)}: ${text}`);
  }
  console.log(counts.failed === 0 ? '  good' : `  BAD: ${counts.failed} violations`);
  return counts.failed === 0;
}

function* counted(events: Iterable<HistoryEvent>, counts: Counts): Generator<HistoryEvent> {
  for (const event of events) {
    counts.see(event);
    yield event;
  }
}

function make(grants: number, file: string): void {
  const history = new History({ now: () => 0, file, buffered: 1000 });
  for (const { t, p, ...happening } of generate(grants)) history.add(p, happening, t);
  history.close();
}

function main(): number {
  const { values, positionals } = parseArgs({
    args: argv.slice(2),
    allowPositionals: true,
    options: { merge: { type: 'boolean', default: false }, make: { type: 'string' } },
  });
  if (positionals.length === 0) {
    console.log(USAGE);
    return 2;
  }
  if (values.make !== undefined) {
    make(Number(values.make), positionals[0] as string);
    return 0;
  }
  if (values.merge) return check(positionals.join(' '), positionals) ? 0 : 1;
  let good = true;
  for (const file of positionals) good = check(file, [file]) && good;
  return good ? 0 : 1;
}

try {
  process.exitCode = main();
} catch (error) {
  if (!(error instanceof FormatError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
