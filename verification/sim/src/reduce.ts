/**
 * Makes a failing case small: leaves out tasks and faults while the same kind of violation remains
 * (delta debugging, after Zeller and Hildebrandt: halves first, then smaller parts).
 */
import type { Library } from './library.js';
import type { FaultPlan, Plan, TaskPlan } from './plan/plan.js';
import { runBoth } from './overload.js';

/** Runs that one reduction takes at most. */
const RUNS_MAX = 1500;

type Part = { readonly task: TaskPlan } | { readonly fault: FaultPlan };

function withParts(plan: Plan, parts: readonly Part[]): Plan {
  const tasks = parts.flatMap((part) => ('task' in part ? [part.task] : []));
  const faults = parts.flatMap((part) => ('fault' in part ? [part.fault] : []));
  return { ...plan, tasks, faults };
}

/** The smallest plan found that fails in the same way. */
export async function smallest(plan: Plan, kind: string, library: Library): Promise<Plan> {
  let parts: Part[] = [
    ...plan.faults.map((fault) => ({ fault })),
    ...plan.tasks.map((task) => ({ task })),
  ];
  let runs = 0;
  const fails = async (tried: readonly Part[]): Promise<boolean> => {
    runs += 1;
    const { violations } = await runBoth(withParts(plan, tried), library);
    return violations[0]?.kind === kind;
  };
  for (let size = Math.ceil(parts.length / 2); size >= 1 && runs < RUNS_MAX; ) {
    let cut = false;
    for (let from = 0; from < parts.length && runs < RUNS_MAX; ) {
      const rest = [...parts.slice(0, from), ...parts.slice(from + size)];
      if (await fails(rest)) {
        parts = rest;
        cut = true;
      } else {
        from += size;
      }
    }
    if (size > 1) size = Math.ceil(size / 2);
    else if (!cut) break;
  }
  return withParts(plan, parts);
}

/** Leaves out processes and machines without tasks. */
function alone(plan: Plan): Plan {
  const named = new Set(
    [...plan.tasks, ...plan.faults].flatMap((part) => ('process' in part ? [part.process] : [])),
  );
  return { ...plan, processes: plan.processes.filter(({ name }) => named.has(name)) };
}

export async function reduce(
  plan: Plan,
  kind: string,
  library: Library,
  print: (line: string) => void,
): Promise<Plan> {
  let small = await smallest(plan, kind, library);
  const fewer = alone(small);
  if ((await runBoth(fewer, library)).violations[0]?.kind === kind) small = fewer;
  print(`reduced to ${small.tasks.length} tasks and ${small.faults.length} faults:`);
  for (const fault of small.faults) print(`  ${JSON.stringify(fault)}`);
  for (const task of small.tasks) print(`  ${JSON.stringify(task)}`);
  await runBoth(small, library, print);
  return small;
}
