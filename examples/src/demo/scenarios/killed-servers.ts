/** The scenario on a quorum: two of five servers are killed while the workers contend. */
import type { Fault, Pace } from '../plan.js';
import type { Report } from '../reports.js';
import { Resource } from '../resource.js';
import { count, ms } from '../display/text.js';
import type { Finding, DemoRunner } from '../runner.js';
import type { QuorumServers } from '../workers/quorum-servers.js';

/** Time between two starts, so that the workers enter the queue in their order. */
/** Of the ttl: a worker is in the queue before the next one asks. */
const START_INTERVAL = 0.25;
/** The parts of the first holder's work after which the servers are killed. */
const KILLS = [0.3, 0.4];

export function killedServers(
  runner: DemoRunner,
  servers: QuorumServers,
  pace: Pace,
  fault?: Fault,
): Promise<boolean> {
  const { workers } = runner.group;
  const names = workers.map(({ name }) => name);
  const info = {
    title: `Quorum   ${workers.length === 5 ? 'Five' : 'Three'} workers, five servers, two killed`,
    intro: [
      'The lock is on five independent servers. Two of them are killed (SIGKILL) while',
      'the first worker holds it. Its lease is renewed, and the others follow in turn.',
    ],
    span: workers.length * pace.work + 500,
    workers: [...names, ...servers.names],
    ttl: pace.ttl,
    notes: 0,
    legend: ['waits', 'holds', 'up', 'down'] as const,
  };
  return runner.runScenario(info, new Resource(), () => run(runner, servers, pace, fault));
}

async function run(
  runner: DemoRunner,
  servers: QuorumServers,
  pace: Pace,
  fault?: Fault,
): Promise<Finding> {
  const { group, resource } = runner;
  const { ttl, work } = pace;
  for (const name of servers.names) runner.report(name, { what: 'up' });
  const done: Promise<Report>[] = [];
  for (const [at, worker] of group.workers.entries()) {
    done.push(runner.next(worker, 'done'));
    const holds = at === 0 ? runner.next(worker, 'holds') : undefined;
    // with a different key for each worker there is no mutual exclusion
    const key = fault === 'no-lock' ? `report:${worker.name}` : 'report';
    worker.start({ key, ttl, renew: true, job: work });
    // its first use of the servers checks them, and the others must not be queued before it
    await holds;
    await runner.pause(START_INTERVAL * ttl);
  }
  const [, first, , second] = servers.names as [string, string, string, string, string];
  for (const [at, name] of [first, second].entries()) {
    await runner.pause(work * (KILLS[at] as number));
    await servers.kill(name);
    runner.report(name, { what: 'down' });
  }
  await Promise.all(done);
  const { overlaps, visits } = resource;
  const names = group.workers.map(({ name }) => name);
  const rows = (runner.state?.rows ?? []).filter(({ name }) => names.includes(name));
  const order = rows.toSorted((a, b) => (a.fence ?? 0) - (b.fence ?? 0)).map(({ name }) => name);
  const handOffs = rows.flatMap(({ handOff }) => handOff ?? []);
  const renewals = rows.reduce((sum, row) => sum + row.renewals, 0);
  return {
    checks: [
      {
        ok: overlaps === 0 && visits === rows.length,
        text: `${count(overlaps, 'overlap')} seen by the resource in ${visits} visits`,
      },
      {
        ok: order.join() === names.join(),
        text: 'the workers held the lock in their order, each with a higher fence',
      },
    ],
    measured:
      `release to next holder: longest ${ms(Math.max(...handOffs))}; ` +
      `${count(renewals, 'renewal')}, with two of five servers dead`,
  };
}
