/** `npm run trials`: lists the trials, or runs one at its full size. */
import { argv } from 'node:process';
import { parseArgs } from 'node:util';
import type { ServerName } from 'holdfast-testkit';
import { trials } from './registry.js';
import { CLIENTS, type ClientName } from './support/clients.js';
import { PRIMITIVES, type Primitive } from './support/locks.js';
import { table, verdictLine } from './support/table.js';
import { type Parameters, parameters, type Size, type Trial } from './trial.js';

const SIZES = ['trials', 'seconds', 'processes', 'tasks', 'others'] as const;
const SERVERS: readonly ServerName[] = ['redis', 'valkey'];

const USAGE = `npm run trials -- NAME [options]

  --server ${SERVERS.join('|')}      default ${SERVERS[0]}
  --client ${CLIENTS.join('|')}      default ${CLIENTS[0]}
  --primitive ${PRIMITIVES.join('|')}
                              for exclusion, lost-replies, takeover and leaks; default mutex
  --kind TEXT                 for trials with several kinds of rounds: those with this name
  --fault NAME                plant a fault; the trial must find it
  --seed N                    default: a new seed for each run
  --share                     the size of the run in the test suite
  ${SIZES.map((size) => `--${size} N`).join('  ')}
`;

class UsageError extends Error {}

function read(words: string[]): { trial: Trial; parameters: Parameters } | undefined {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      server: { type: 'string', default: SERVERS[0] as string },
      client: { type: 'string', default: CLIENTS[0] },
      fault: { type: 'string' },
      kind: { type: 'string', default: '' },
      primitive: { type: 'string', default: PRIMITIVES[0] },
      seed: { type: 'string' },
      share: { type: 'boolean', default: false },
      ...Object.fromEntries(SIZES.map((size) => [size, { type: 'string' as const }])),
    },
  });
  const [name] = positionals;
  if (name === undefined) return undefined;
  const trial = trials.find((each) => each.name === name);
  if (trial === undefined)
    throw new UsageError(
      `unknown trial ${name}; use ${trials.map((each) => each.name).join(', ')}`,
    );
  const { fault } = values;
  if (fault !== undefined && !trial.faults.includes(fault)) {
    throw new UsageError(`unknown fault ${fault} of ${name}; use ${trial.faults.join(', ')}`);
  }
  const given: Partial<Record<keyof Size, number>> = {};
  for (const size of SIZES) {
    const text = (values as Record<string, unknown>)[size];
    if (text !== undefined) given[size] = numberOf(size, text);
  }
  const seed = values.seed === undefined ? Date.now() % 1e6 : numberOf('seed', values.seed);
  const server = oneOf('server', SERVERS, values.server);
  const client: ClientName = oneOf('client', CLIENTS, values.client);
  const primitive: Primitive = oneOf('primitive', PRIMITIVES, values.primitive);
  const size = { ...(values.share ? trial.share : trial.full), ...given };
  const { kind } = values;
  return { trial, parameters: parameters(size, { server, client, seed, fault, kind, primitive }) };
}

function numberOf(name: string, text: unknown): number {
  const value = Number(text);
  if (!(value >= 0))
    throw new UsageError(`--${name} ${String(text)}: expected a number of at least 0`);
  return value;
}

function oneOf<T extends string>(name: string, list: readonly T[], text: string): T {
  const found = list.find((each) => each === text);
  if (found === undefined)
    throw new UsageError(`--${name} ${text}: expected one of ${list.join(', ')}`);
  return found;
}

function list(): void {
  console.log(USAGE);
  for (const { name, claim, faults } of trials) {
    console.log(`${name}\n  ${claim}\n  faults: ${faults.join(', ')}`);
  }
}

async function run(trial: Trial, given: Parameters): Promise<boolean> {
  const { server, client, seed, fault, primitive } = given;
  const planted = fault === undefined ? '' : `, planted fault ${fault}`;
  console.log(`${trial.name}: ${primitive}, ${server}, ${client}, seed ${seed}${planted}`);
  const started = performance.now();
  // without a handle that keeps the process alive, Node would end it without a word
  const alive = setInterval(() => undefined, 60_000);
  const verdict = await trial.run(given).finally(() => clearInterval(alive));
  const duration = `${((performance.now() - started) / 1000).toFixed(1)} s`;
  console.log(table({ ...verdict.figures, duration }));
  for (const problem of verdict.problems) console.log(`  ! ${problem}`);
  console.log(verdictLine(trial, verdict));
  return verdict.passed;
}

try {
  const request = read(argv.slice(2));
  if (request === undefined) list();
  else if (!(await run(request.trial, request.parameters))) process.exitCode = 1;
} catch (error) {
  const usage = error instanceof UsageError || (error as { code?: string }).code !== undefined;
  console.error(usage ? (error as Error).message : error);
  process.exitCode = 2;
}
