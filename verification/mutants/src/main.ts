/**
 * `npm run mutants [-- --seeds N] [--only TEXT] [--write]`: plants each mistake of the catalogue,
 * and runs the simulator until it finds the mistake: the seed that the catalogue names, then the
 * seeds from 1 on. The unchanged library must pass the seed that found it. The exit code is 1 if a
 * mistake is not found. `--write` puts the table into `verification/mutants.md`.
 *
 * `npm run mutants -- --tests [--only TEXT] [--write]`: runs the test that the catalogue names for
 * a mistake which the simulator does not find. It must fail with the mistake and pass without it.
 *
 * `npm run mutants -- --torture [--seconds N] [--seed N] [--only TEXT] [--write]`: runs the
 * torture test against the mutants that it can provoke. The unchanged library runs first and must
 * pass. A mutant that is not provoked is reported, and is no failure. With `--store postgres` or
 * `sqlite` it runs the mistakes of that package, and each must be found.
 *
 * `npm run mutants -- --trials [--seed N] [--only TEXT] [--write]`: runs trials on real servers
 * against the mutants that they find. The unchanged library must pass each of these trials.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTANTS } from './catalogue/all.js';
import { PACKAGES } from './catalogue/packages.js';
import { BEYOND, TORTURED } from './catalogue/torture.js';
import { TRIED, type Tried } from './catalogue/trials.js';
import { type Catch, hunt } from './hunt.js';
import { isClean, isFinding, namedBy, type Tested, testsOf } from './in-tests.js';
import type { Mutant } from './mutant.js';
import { type Provoked, provoke, type Run } from './provoke.js';
import { tryOut } from './try-out.js';

const PAGE: string = fileURLToPath(new URL('../../../verification/mutants.md', import.meta.url));
const STORES = ['redis', 'postgres', 'sqlite', 'etcd'] as const;
/** A crowd takes its time on a busy machine. */
const HANGS_MS = 300_000;
/** Searches at a time. */
const LANES = 2;

/** A table of the page, identified by its first line. */
class Table {
  readonly #rows: string[];

  constructor(...columns: string[]) {
    this.#rows = [line(columns), line(columns.map(() => '---'))];
  }

  add(...cells: string[]): void {
    this.#rows.push(line(cells));
    console.log(line(cells));
  }

  write(): void {
    const [before = '', after = ''] = readFileSync(PAGE, 'utf8').split(`${this.#rows[0]}\n`);
    const rest = after.replace(/^(\|.*\n)*/, '');
    writeFileSync(PAGE, `${before}${this.#rows.join('\n')}\n${rest}`);
  }
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '/')).join(' | ')} |`;
}

/** Calls a function for each element, for a few at a time. */
function inLanes<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R>[] {
  const lanes: Promise<unknown>[] = Array.from({ length: LANES }, () => Promise.resolve());
  return all.map((one, at) => {
    const result = (lanes[at % LANES] as Promise<unknown>).then(() => work(one));
    lanes[at % LANES] = result;
    return result;
  });
}

/** What the simulator finds with a mutant, and without it in the same seed. */
async function judge(mutant: Mutant, seeds: number): Promise<readonly [Catch, Catch?]> {
  const found = await hunt(mutant, { from: 1, seeds, limit: HANGS_MS });
  if (found.by === undefined) return [found];
  const { world = 'server' } = mutant;
  const same = { from: found.seed, seeds: 1, limit: HANGS_MS, world };
  return [found, await hunt(undefined, same)];
}

async function simulate(mutants: readonly Mutant[], seeds: number): Promise<[Table, boolean]> {
  const table = new Table('mutant', 'mistake', 'caught by', 'engine assertion', 'seed');
  const simulated = mutants.filter(({ elsewhere }) => elsewhere === undefined);
  const catches = inLanes(simulated, (mutant) => judge(mutant, seeds));
  let [missed, wrong] = [0, 0];
  for (const [at, { name, mistake }] of simulated.entries()) {
    const [found, asItIs] = (await catches[at]) as Awaited<ReturnType<typeof judge>>;
    if (found.by === undefined) missed += 1;
    const asserted = found.broken === undefined ? '' : 'fires';
    table.add(name, mistake, found.by ?? 'NOT CAUGHT', asserted, `${found.seed}`);
    if (found.by === 'crashes') console.log(found.text);
    if (asItIs?.by === undefined) continue;
    wrong += 1;
    console.log(`  the unchanged library fails this seed: ${asItIs.by} ${asItIs.text}`);
  }
  console.log(`${simulated.length - missed} of ${simulated.length} caught, ${wrong} wrongly`);
  return [table, missed + wrong === 0];
}

/** Runs each test that finds a mistake, with the mistake; and once without any. */
async function testAll(mutants: readonly Mutant[]): Promise<[Table, boolean]> {
  const table = new Table('mutant', 'mistake', 'test file', 'the test that fails');
  const unchanged = new Map<string, Promise<Tested>>();
  const tested = mutants.flatMap(({ elsewhere, ...mutant }) =>
    elsewhere === undefined ? [] : [{ elsewhere, mutant }],
  );
  const results = inLanes(tested, async ({ elsewhere, mutant }) => {
    const named = namedBy(elsewhere);
    const asItIs = unchanged.get(elsewhere) ?? testsOf(undefined, named);
    unchanged.set(elsewhere, asItIs);
    return [await testsOf(mutant, named), await asItIs] as const;
  });
  let caught = 0;
  for (const [at, { elsewhere, mutant }] of tested.entries()) {
    const [found, asItIs] = (await results[at]) as readonly [Tested, Tested];
    const isCaught = isFinding(found);
    if (isCaught && isClean(asItIs)) caught += 1;
    const [first = 'an error outside of the tests'] = found.failed;
    const { name, mistake } = mutant;
    table.add(name, mistake, `\`${elsewhere}\``, isCaught ? first : 'NOT CAUGHT');
    if (!isCaught) console.log(found.error ?? `  ${found.passed} tests pass`);
    if (!isClean(asItIs)) console.log(`  without it: ${asItIs.failed[0] ?? asItIs.error}`);
  }
  console.log(`${caught} of ${tested.length} caught`);
  return [table, caught === tested.length];
}

async function tortureAll(mutants: readonly Mutant[], run: Run): Promise<[Table, boolean]> {
  const isRedis = run.server === 'redis';
  const title = isRedis ? 'mutant' : `mutant on ${run.server}`;
  const table = new Table(title, 'caught by the torture', 'after');
  let missed = 0;
  const add = (name: string, { by, after, text }: Provoked): void => {
    const when = after === undefined ? 'the run' : `${after.toFixed(0)} s`;
    if (by.length === 0) missed += 1;
    if (by.length === 0) table.add(name, 'not provoked', '');
    else table.add(name, by.join(', '), when);
    if (text !== '') console.log(`  ${text}`);
  };
  const asItIs = await provoke(undefined, run);
  add('(the library as it is)', asItIs);
  for (const mutant of mutants) add(mutant.name, await provoke(mutant, run));
  if (!isRedis) return [table, asItIs.by.length === 0 && missed === 1];
  for (const [name, why] of Object.entries(BEYOND)) table.add(name, `not run: ${why}`, '');
  return [table, asItIs.by.length === 0];
}

/** How often a trial runs with a mutant: one round may give it no occasion. */
const ROUNDS = 3;

async function tryAll(all: readonly Tried[], seed: number): Promise<[Table, boolean]> {
  const table = new Table('mutant', 'trial', 'found as');
  let good = true;
  for (const one of all) {
    const { mutant, trial, kind } = one;
    let problems: string[] = [];
    for (let round = 0; round < ROUNDS && problems.length === 0; round++) {
      problems = await tryOut(one, mutant, seed + round);
    }
    const asItIs = await tryOut(one, undefined, seed);
    const kinds = [...new Set(problems.map((text) => text.replace(/ \(.*/s, '')))];
    const found = kinds.length === 0 ? 'NOT FOUND' : kinds.join(', ');
    const wrong = asItIs.length > 0 ? `; without it: ${asItIs[0]}` : '';
    table.add(mutant, kind === '' ? `\`${trial}\`` : `\`${trial}\`, ${kind}`, found + wrong);
    good &&= kinds.length > 0 && wrong === '';
  }
  return [table, good];
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '2000' },
      torture: { type: 'boolean', default: false },
      store: { type: 'string', default: 'redis' },
      tests: { type: 'boolean', default: false },
      trials: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '15' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string', default: '' },
      write: { type: 'boolean', default: false },
    },
  });
  const { only } = values;
  const store = STORES.find((name) => name === values.store);
  if (store === undefined) throw new Error(`--store is one of ${STORES.join(', ')}`);
  const run = { server: store, seconds: Number(values.seconds), seed: Number(values.seed) };
  const tortured = store === 'redis' ? TORTURED : PACKAGES[store];
  const named = ({ name }: Mutant): boolean => name.includes(only);
  const tabled = (): Promise<[Table, boolean]> => {
    if (values.torture) return tortureAll(tortured.filter(named), run);
    if (values.trials) {
      const tried = TRIED.filter(({ mutant }) => mutant.includes(only));
      return tryAll(tried, run.seed);
    }
    if (values.tests) return testAll(MUTANTS.filter(named));
    return simulate(MUTANTS.filter(named), Number(values.seeds));
  };
  const [table, good] = await tabled();
  if (values.write) table.write();
  process.exitCode = good ? 0 : 1;
}

await main();
