/** `npm run torture`: one run, its report, and its verdict. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { parseArgs } from 'node:util';
import { report, type Reported } from './report.js';
import { PLANTED } from './settings.js';
import { type Parameters, readOutcome, torture } from './torture.js';

const USAGE = `npm run torture -- [options]

  --server redis|valkey  default redis
  --seconds N            how long faults happen, default 60
  --seed N               default: another one each time
  --processes N          default 6
  --tasks N              in each process, default 4
  --fault NAME           one that is planted and has to be found: ${PLANTED.join(', ')}
  --proxies              no network namespaces: proxies make the partitions
  --read FOLDER          no run: judges the histories that an earlier one kept
  --keep                 keep the histories, also if all is well
`;

interface Asked {
  readonly parameters: Parameters;
  readonly keep: boolean;
  /** Histories to judge instead. */
  readonly histories: string | undefined;
}

function read(words: string[]): Asked {
  const { values } = parseArgs({
    args: words,
    options: {
      server: { type: 'string', default: 'redis' },
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: `${Date.now() % 1e6}` },
      processes: { type: 'string', default: '6' },
      tasks: { type: 'string', default: '4' },
      fault: { type: 'string' },
      proxies: { type: 'boolean', default: false },
      read: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const { server } = values;
  if (server !== 'redis' && server !== 'valkey') throw new Error(USAGE);
  const fault = PLANTED.find((name) => name === values.fault);
  if (fault !== values.fault) throw new Error(USAGE);
  const numbers = [values.seconds, values.seed, values.processes, values.tasks].map(Number);
  if (!numbers.every((number) => number >= 1)) throw new Error(USAGE);
  const [seconds = 0, seed = 0, processes = 0, tasks = 0] = numbers;
  const folder = values.read ?? mkdtempSync(join(tmpdir(), 'holdfast-torture-'));
  const hosts = !values.proxies;
  const parameters = { server, seconds, seed, processes, tasks, folder, fault, hosts } as const;
  return { parameters, keep: values.keep, histories: values.read };
}

async function main(): Promise<void> {
  const { parameters, keep, histories } = read(argv.slice(2));
  const { server, seconds, seed, folder } = parameters;
  let outcome: Reported;
  if (histories === undefined) {
    console.log(`torture of ${server}, ${seconds} s, seed ${seed}`);
    const run = await torture(parameters);
    console.log(run.version);
    outcome = run;
  } else {
    outcome = readOutcome(histories);
  }
  for (const line of report(outcome)) console.log(line);
  for (const problem of outcome.problems.list()) console.log(`  ! ${problem}`);
  const violations = outcome.problems.total;
  const passed = violations === 0;
  const origin = histories ?? `seed ${seed}`;
  console.log(`${passed ? 'PASS' : 'FAIL'}: ${violations} violations, ${origin}`);
  if (passed && !keep && histories === undefined) rmSync(folder, { recursive: true });
  else console.log(`histories: ${folder}`);
  process.exitCode = passed ? 0 : 1;
}

try {
  await main();
} catch (error) {
  console.error(error);
  process.exitCode = 2;
}
