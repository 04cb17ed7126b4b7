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
                              in exclusion, lost-replies, takeover and leaks; default mutex
  --fault NAME                a fault to plant: the trial has to find it
  --seed N                    default: another one each time
  --share                     the size that the test suite runs
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
      primitive: { type: 'string', default: PRIMITIVES[0] },
      seed: { type: 'string' },
      share: { type: 'boolean', default: false },
      ...Object.fromEntries(SIZES.map((size) => [size, { type: 'string' as const }])),
    },
  });
  const [name] = positionals;
  if (name === undefined) return undefined;
  const trial = trials.find((each) => each.name === name);
  if (trial === undefined) throw new UsageError(`there is no trial ${name}`);
  const { fault } = values;
  if (fault !== undefined && !trial.faults.includes(fault)) {
    throw new UsageError(`${name} knows the faults ${trial.faults.join(', ')}, not ${fault}`);
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
  return { trial, parameters: parameters(size, { server, client, seed, fault, primitive }) };
}

function numberOf(name: string, text: unknown): number {
  const value = Number(text);
  if (!(value >= 0)) throw new UsageError(`--${name} must be a number, not ${String(text)}`);
  return value;
}

function oneOf<T extends string>(name: string, list: readonly T[], text: string): T {
  const found = list.find((each) => each === text);
  if (found === undefined) throw new UsageError(`--${name} is one of ${list.join(', ')}`);
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
  const verdict = await trial.run(given);
  const duration = `${((performance.now() - started) / 1000).toFixed(1)} s`;
  console.log(table({ ...verdict.figures, duration }));
  for (const problem of verdict.problems) console.log(`  ! ${problem}`);
  console.log(verdictLine(trial, verdict));
  return verdict.passed;
}

try {
  const asked = read(argv.slice(2));
  if (asked === undefined) list();
  else if (!(await run(asked.trial, asked.parameters))) process.exitCode = 1;
} catch (error) {
  const usage = error instanceof UsageError || (error as { code?: string }).code !== undefined;
  console.error(usage ? (error as Error).message : error);
  process.exitCode = 2;
}
