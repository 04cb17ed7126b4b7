/**
 * `feeds`: overload does not feed itself. A plan with a load runs quiet and with the load; with it,
 * the server executes at most 1.5 times as many commands for each grant. Messages count too.
 *
 * A queue that takes longer than a claim window costs more, also without a load: two polls and the
 * question that ends a pause (`docs/decisions/0004-dead-and-frozen-waiters.md`). A load may make it
 * so long, so the commands of such a queue, and 1.2 times as many, are allowed too.
 *
 * `polls`: the server executes at most as many commands as a plan allows (`most`).
 */
import type { Library } from './library.js';
import type { Plan } from './plan/plan.js';
import { type Result, run } from './run.js';

const MOST = 1.5;
/** The commands for each grant of a long queue. */
const LONG_QUEUE = 7;
const MOST_LONG = 1.2;

export async function runBoth(
  plan: Plan,
  library: Library,
  print?: (line: string) => void,
): Promise<Result> {
  const result = await runWithLoad(plan, library, print);
  const { most = Number.POSITIVE_INFINITY } = plan;
  if (result.commands <= most || result.violations.length > 0) return result;
  const text = `${result.commands} commands and messages, more than ${most}`;
  return { ...result, violations: [{ kind: 'polls', t: result.time, key: '', text }] };
}

async function runWithLoad(
  plan: Plan,
  library: Library,
  print?: (line: string) => void,
): Promise<Result> {
  const { load } = plan;
  if (load === undefined) return run(plan, library, print);
  const quiet = await run({ ...plan, load: { ...load, cost: load.usual, lag: 0 } }, library);
  if (quiet.violations.length > 0) return quiet;
  const loaded = await run(plan, library, print);
  const before = quiet.commands / quiet.grants;
  const now = loaded.commands / loaded.grants;
  const most = Math.max(MOST * before, MOST_LONG * LONG_QUEUE);
  if (now <= most || loaded.violations.length > 0) return loaded;
  const text = `${now.toFixed(2)} commands for each grant, ${before.toFixed(2)} without the load`;
  return { ...loaded, violations: [{ kind: 'feeds', t: loaded.time, key: '', text }] };
}
