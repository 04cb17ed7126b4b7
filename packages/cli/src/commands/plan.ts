/** `holdfast plan`: what a load needs. It asks no server. */
import { usage } from '../failure.js';
import type { Topology } from '../plan/costs.js';
import { type Load, plan as planOf } from '../plan/plan.js';
import { print } from '../view/output.js';
import { planReport } from '../view/plan.js';
import { json as toJson } from '../view/words.js';

export interface PlanOptions {
  readonly json?: boolean;
  readonly topology: Topology;
  readonly processes: number;
  readonly locks: number;
  readonly rate: number;
  readonly hold: number;
  readonly ttl: number;
  readonly contended: number;
  readonly waiters: number;
  readonly hotKeys: number;
  readonly keys?: number;
  readonly servers?: number;
  readonly memory: number;
}

export function plan(options: PlanOptions): void {
  const result = planOf(loadOf(options));
  print(options.json === true ? toJson(result) : planReport(result));
}

/** The load of the options. Throws a failure if they contradict each other. */
export function loadOf(options: PlanOptions): Load {
  const { json: _, ...load } = options;
  const { hotKeys, locks, processes, rate, servers, topology, waiters } = load;
  if (processes < 1) throw usage(`--processes ${processes}: write a number from 1`);
  if (load.ttl === 0) throw usage('--ttl 0: a lease has a length');
  if (locks === 0 && rate === 0 && waiters === 0) {
    throw usage('there is no load', 'give --locks, or --rate with --hold, or --waiters');
  }
  if (waiters > processes * hotKeys) {
    throw usage(
      `--waiters ${waiters} are too many: ${processes} --processes wait at most once each`,
    );
  }
  checkServers(topology, servers);
  return { keys: undefined, servers: undefined, ...load };
}

function checkServers(topology: Topology, servers: number | undefined): void {
  if (servers === undefined) return;
  if (topology === 'one' && servers !== 1) {
    throw usage(`--servers ${servers} does not fit --topology one`, 'choose another topology');
  }
  if (topology === 'cluster' && servers < 3) {
    throw usage(`--servers ${servers}: a cluster has three masters or more`);
  }
  if (topology === 'quorum' && (servers < 3 || servers % 2 === 0)) {
    throw usage(`--servers ${servers}: a quorum has an odd number of servers from 3`);
  }
}
