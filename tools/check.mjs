/**
 * `npm run check`: format, lint, unit tests, and the suites in memory, at the same time.
 *
 * The suites in memory wait in real time. The other parts compute, so they have a lower priority.
 * The output of a part is printed when it ends, if it failed.
 */
import { constants } from 'node:os';
import { performance } from 'node:perf_hooks';
import { run } from './run.mjs';

/** @type {{ name: string, command: string, waits?: boolean }[]} */
const PARTS = [
  { name: 'format', command: 'biome format' },
  { name: 'lint', command: 'npm run --silent lint' },
  // on two cores Vitest would use one worker
  { name: 'unit', command: 'vitest run --project unit --reporter=dot --maxWorkers=100%' },
  { name: 'realtime', command: 'vitest run --project realtime --reporter=dot', waits: true },
];

const LOWER = { priority: constants.priority.PRIORITY_BELOW_NORMAL };

const ends = PARTS.map(async ({ name, command, waits = false }) => {
  const [program = '', ...args] = command.split(' ');
  const start = performance.now();
  const { ok, output } = await run(program, args, waits ? {} : LOWER);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (!ok) console.log(output.trimEnd());
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
  return ok;
});
process.exitCode = (await Promise.all(ends)).every(Boolean) ? 0 : 1;
