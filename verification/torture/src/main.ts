/** `npm run torture`: runs once, prints the report, and exits with 1 after a violation. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { parseArgs } from 'node:util';
import { report, type Reported } from './report.js';
import { isRegister, PLANTED, STORES } from './settings.js';
import { type Parameters, readOutcome, torture } from './torture.js';

const USAGE = `npm run torture -- [options]

  --store NAME           redis (default), valkey, postgres, sqlite, etcd; --server is the same
  --seconds N            how long faults are injected, default 60
  --seed N               seed of the faults, default: from the time
  --processes N          client processes, default 6
  --tasks N              tasks in each process, default 4
  --fault NAME           plant a fault that the run must find: ${PLANTED.join(', ')}
  --quorum N             an odd number of independent servers instead of one with a standby
  --forget               with --quorum: servers lose their memory now and then
  --proxies              make partitions with proxies, not with network namespaces
  --read FOLDER          check the histories of an earlier run instead of running
  --keep                 keep the histories even if there is no violation
`;

interface Invocation {
  readonly parameters: Parameters;
  readonly keep: boolean;
  /** A folder of histories to check instead of a run. */
  readonly histories: string | undefined;
}

function parse(words: string[]): Invocation {
  const { values } = parseArgs({
    args: words,
    options: {
      store: { type: 'string' },
      server: { type: 'string', default: 'redis' },
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: `${Date.now() % 1e6}` },
      processes: { type: 'string', default: '6' },
      tasks: { type: 'string', default: '4' },
      fault: { type: 'string' },
      quorum: { type: 'string', default: '1' },
      forget: { type: 'boolean', default: false },
      proxies: { type: 'boolean', default: false },
      read: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const server = STORES.find((name) => name === (values.store ?? values.server));
  if (server === undefined) throw new Error(USAGE);
  const fault = PLANTED.find((name) => name === values.fault);
  if (fault !== values.fault) throw new Error(USAGE);
  const { seconds: time, seed: from, processes: many, tasks: each, quorum: servers } = values;
  const numbers = [time, from, many, each, servers].map(Number);
  if (!numbers.every((number) => number >= 1)) throw new Error(USAGE);
  const [seconds = 0, seed = 0, processes = 0, tasks = 0, quorum = 1] = numbers;
  if (quorum % 2 === 0 || (quorum > 1 && isRegister(server))) throw new Error(USAGE);
  const folder = values.read ?? mkdtempSync(join(tmpdir(), 'holdfast-torture-'));
  const hosts = !values.proxies;
  const sizes = { seconds, processes, tasks, quorum, forgets: values.forget };
  const parameters = { ...sizes, server, seed, folder, fault, hosts } as const;
  return { parameters, keep: values.keep, histories: values.read };
}

async function main(): Promise<void> {
  const { parameters, keep, histories } = parse(argv.slice(2));
  const { server, seconds, seed, folder, quorum = 1 } = parameters;
  let outcome: Reported;
  if (histories === undefined) {
    const of = quorum > 1 ? `${quorum} x ${server}` : server;
    console.log(`torture of ${of}, ${seconds} s, seed ${seed}`);
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
