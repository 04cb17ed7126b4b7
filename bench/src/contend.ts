/**
 * Many programs that ask for one lock at the same moment, each once, on one server and on a quorum
 * of three. Each has an instance and connections of its own; four processes of the system share
 * them. Counts the requests to all servers, the time until the last one has had the lock, and
 * leases that were lost.
 */
import { Meter } from './scale/meter.js';
import { type Kind, type Site, startSite } from './scale/sites.js';
import { Team } from './scale/team.js';
import type { Settings } from './settings.js';

const SIZES = { quick: [1, 10], full: [10, 100, 300, 1000] };
/** The instances share so many processes of the system. */
const WORKERS = 4;
/** How long each one works under the lock. */
const WORK_MS = 1;
/** Pairs of each instance before, so that its code is compiled. */
const WARM_PAIRS = 3;

interface Contended {
  readonly ms: number;
  /** Requests to all servers, and CPU times in µs, for each grant. */
  readonly requests: number;
  readonly servers: number;
  readonly clients: number;
  readonly lost: number;
}

export async function printContenders({ server, quick }: Settings): Promise<void> {
  const start = async (kind: Kind): Promise<Site> => startSite(kind, server);
  await using one = await start('one');
  await using three = await start('quorum');
  console.log(`contenders for one lock, ${WORK_MS} ms of work each: requests for each grant, and`);
  console.log('the CPU time of the servers and of the clients for it');
  console.log('  contenders  one server                         quorum of three');
  for (const count of SIZES[quick ? 'quick' : 'full']) {
    const single = await contend(one, count);
    const many = await contend(three, count);
    const ratio = `${(many.ms / single.ms).toFixed(1)} x`;
    console.log(`  ${`${count}`.padStart(10)}  ${row(single)}  ${row(many)}  ${ratio}`);
  }
}

function row({ ms, requests, servers, clients, lost }: Contended): string {
  const cpu = `${servers.toFixed(0)} + ${clients.toFixed(0)} µs`;
  return `${ms.toFixed(0)} ms, ${requests.toFixed(1)}, ${cpu}, ${lost} lost`.padEnd(33);
}

async function contend(site: Site, count: number): Promise<Contended> {
  await using meter = await Meter.start(site);
  await using team = await Team.start(site, {
    processes: Math.min(WORKERS, count),
    instances: count,
  });
  await team.ask({ do: 'pairs', pairs: WARM_PAIRS * count });
  const order = { do: 'contend', grants: 1, work: WORK_MS } as const;
  // the first turn opens the wake connections
  await team.ask({ ...order, key: `first of ${count}` });
  const { result, change } = await meter.during(() =>
    team.ask({ ...order, key: `contended by ${count}` }),
  );
  return {
    ms: result.ms,
    requests: change.commands / count,
    servers: change.cpu / count,
    clients: result.cpu / count,
    lost: count - result.done,
  };
}
