/**
 * The simulator's command.
 *
 *   npm run sim -- --seeds 1000 [--from 1]     runs 1000 seeds, from the first one
 *   npm run sim -- --minutes 1                 runs seeds for one minute
 *   npm run sim -- --seeds 1000 --failures 1   stops at the first violation
 *   npm run sim -- --ignore short,long         does not check for these kinds of violations
 *   npm run sim -- --seed 17 [--trace]         runs one seed, and prints its events
 *   npm run sim -- --seed 17 --reduce          prints a smaller plan that still fails
 *   npm run sim -- --seed 17 --history FILE    writes the history for the checker
 *   npm run sim -- --seed 17 --reduce --save FILE    saves the smaller plan
 *   npm run sim -- --plan FILE [--trace]       runs a saved plan
 *   npm run sim -- --draw steps --seeds 100    runs plans of one sort: steps, flights, ...
 *   npm run sim -- --seeds 60 --calls FILE     writes which public methods and options they use
 *   npm run sim -- --quorum --seeds 100        runs seeds of a simulated quorum of servers
 *   npm run sim -- --plan FILE --lucks 200     runs it with 200 other random seeds, until one
 *                                              fails; the first of them is 1, or that of --from
 *
 * `HOLDFAST_DIST=DIR node verification/sim/dist/main.js --seeds 200` runs another compiled copy of
 * the library (one with a planted fault), and builds nothing. The exit code is 1 after a
 * violation; the last line names it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { explore } from './explore.js';
import { type Library, loadLibrary } from './library.js';
import { isSpecial, planOf } from './plan/generate.js';
import type { Plan } from './plan/plan.js';
import { exploreQuorum } from './quorum/explore.js';
import { exploreRegister } from './register/explore.js';
import { reduce } from './reduce.js';
import { runBoth } from './overload.js';
import { Calls } from './watch/calls.js';

async function one(library: Library, plan: Plan, options: Options): Promise<boolean> {
  const print = options.trace ? (line: string): void => console.log(line) : undefined;
  const { violations, history, grants, time, events } = await runBoth(plan, library, print);
  const hours = (time / 3_600_000).toFixed(3);
  console.log(
    `seed ${plan.seed} (${plan.profile}): ${grants} grants, ${events} events, ${hours} h`,
  );
  for (const { kind, t, key, text } of violations) {
    console.log(`  ${kind} ${key} at ${t.toFixed(3)}: ${text}`);
  }
  if (options.history !== undefined) {
    writeFileSync(options.history, history.map((event) => `${JSON.stringify(event)}\n`).join(''));
  }
  const [first] = violations;
  if (options.reduce && first !== undefined) {
    const small = await reduce(plan, first.kind, library, console.log);
    if (options.save !== undefined) writeFileSync(options.save, written(small));
  }
  return violations.length === 0;
}

/** Runs the same plan with other random draws: latencies, timer delays, the order of events. */
async function lucky(library: Library, plan: Plan, lucks: number, from: number): Promise<boolean> {
  for (let seed = from; seed < from + lucks; seed++) {
    const { violations } = await runBoth({ ...plan, seed }, library);
    const [first] = violations;
    if (first === undefined) continue;
    console.log(`random seed ${seed}: ${first.kind} ${first.key}: ${first.text}`);
    return false;
  }
  console.log(`${lucks} random seeds, 0 violations`);
  return true;
}

/** A plan with a line for each of its parts. */
function written(plan: Plan): string {
  const show = (value: unknown): string => {
    if (!Array.isArray(value) || value.length === 0) return JSON.stringify(value);
    return `[\n  ${value.map((part) => JSON.stringify(part)).join(',\n  ')}\n ]`;
  };
  const fields = Object.entries(plan).map(([name, value]) => ` "${name}": ${show(value)}`);
  return `{\n${fields.join(',\n')}\n}\n`;
}

interface Options {
  readonly trace: boolean;
  readonly reduce: boolean;
  readonly history: string | undefined;
  readonly save: string | undefined;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string', default: '1' },
      minutes: { type: 'string' },
      failures: { type: 'string', default: '20' },
      seed: { type: 'string' },
      trace: { type: 'boolean', default: false },
      reduce: { type: 'boolean', default: false },
      history: { type: 'string' },
      save: { type: 'string' },
      plan: { type: 'string' },
      lucks: { type: 'string' },
      ignore: { type: 'string', default: '' },
      calls: { type: 'string' },
      draw: { type: 'string', default: '' },
      quorum: { type: 'boolean', default: false },
      register: { type: 'boolean', default: false },
    },
  });
  const size = {
    from: Number(values.from),
    seeds: values.minutes === undefined ? Number(values.seeds ?? 100) : Infinity,
    failures: Number(values.failures),
    minutes: values.minutes === undefined ? Infinity : Number(values.minutes),
  };
  if (values.quorum || values.register) {
    const explores = values.quorum ? exploreQuorum : exploreRegister;
    process.exitCode = (await explores(size)) ? 0 : 1;
    return;
  }
  const library = await loadLibrary();
  const calls = values.calls === undefined ? undefined : new Calls(library.Holdfast);
  const { trace, reduce: reduces, history, save, draw } = values;
  const special = isSpecial(draw) ? draw : undefined;
  if (draw !== '' && special === undefined) throw new Error(`no plans of the sort ${draw}`);
  let plan: Plan | undefined;
  if (values.plan !== undefined) plan = JSON.parse(readFileSync(values.plan, 'utf8')) as Plan;
  else if (values.seed !== undefined) plan = planOf(Number(values.seed), special);
  const ignores = values.ignore.split(',');
  if (plan !== undefined && values.lucks !== undefined) {
    const none = await lucky(library, { ...plan, ignores }, Number(values.lucks), size.from);
    process.exitCode = none ? 0 : 1;
    return;
  }
  const ok =
    plan === undefined
      ? await explore(library, { ...size, ignores, special })
      : await one(library, { ...plan, ignores }, { trace, reduce: reduces, history, save });
  if (values.calls !== undefined) writeFileSync(values.calls, JSON.stringify(calls?.names));
  process.exitCode = ok ? 0 : 1;
}

await main();
