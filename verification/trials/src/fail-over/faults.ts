/** The ways to lose a master: what cuts it off before, and what ends it. */
import type { Lease } from 'holdfast';
import { type Server, sleep, until } from 'holdfast-testkit';
import { between, type Random } from '../support/random.js';
import type { Deployment } from './deployments.js';
import { ServerTrouble, trouble } from './scenario.js';

export interface Fault {
  readonly name: string;
  /** The replicas lose the master some time before its end. */
  readonly fromReplicas: boolean;
  /** The clients lose the master some time before its end, silently or with an error. */
  readonly fromClients: boolean;
  readonly end: 'killed' | 'frozen' | 'replaced' | 'isolated';
}

const named = (end: Fault['end'], cut: '' | 'replicas' | 'clients' | 'both' = ''): Fault => ({
  name: cut === '' ? end : `cut off from ${cut}, ${end}`,
  fromReplicas: cut === 'replicas' || cut === 'both' || end === 'isolated',
  fromClients: cut === 'clients' || cut === 'both',
  end,
});

/** The first one is part of the test suite. */
export const FAULTS: readonly Fault[] = [
  named('killed', 'replicas'),
  named('killed'),
  named('frozen'),
  named('frozen', 'replicas'),
  named('replaced'),
  named('killed', 'clients'),
  named('frozen', 'clients'),
  named('killed', 'both'),
  named('frozen', 'both'),
  // no server reaches it any more, and its clients still do
  named('isolated'),
];

/** For how long locks are granted before each step, in ms. */
const GRANTING = { from: 20, to: 120 };

/** The longest time in ms to wait for a grant by a master without replicas. */
const LONELY_MS = 5000;

/** How a deployment loses its master. */
export interface Loss {
  readonly fault: Fault;
  readonly master: Server;
  readonly random: Random;
  /** The grants that need no replica, by process, as they come. */
  readonly granted: readonly (readonly Lease[])[];
}

/**
 * Cuts the master off and ends it. Resolves to the function that repairs everything. Rejects if
 * another server became the master before, or a replica connected again: no grant would be lost.
 */
export async function strike(
  deployment: Deployment,
  { fault, master, random, granted }: Loss,
): Promise<() => Promise<void>> {
  const replicas = await deployment.replicasOf(master);
  const pause = (): Promise<void> => sleep(between(random, GRANTING.from, GRANTING.to));
  const cuts = {
    replicas: async () => {
      await pause();
      await cut(replicas, master);
      // On a busy machine the pause may be too short for a grant, and only such a grant is lost.
      // The next one may have been on its way.
      const enough = fewest(granted) + 2;
      const more = until(() => fewest(granted) >= enough, { within: LONELY_MS });
      await more.catch(trouble('the master granted nothing more'));
    },
    clients: async () => {
      await pause();
      deployment.doors.shut(master, random() < 0.5);
    },
  };
  if (fault.fromReplicas) await cuts.replicas();
  if (fault.fromClients) await cuts.clients();
  await pause();
  const last = granted.flatMap((leases) => leases.at(-1) ?? []);
  if (!(await isMaster(master, last))) {
    throw new ServerTrouble('another server became the master too early');
  }
  if (fault.fromReplicas && !(await isAlone(master))) {
    throw new ServerTrouble('a replica connected again');
  }
  if (fault.end === 'killed') await master.kill();
  else if (fault.end === 'frozen') master.pause();
  else if (fault.end === 'isolated') await deployment.isolate(master);
  else await deployment.replace(master);
  return async () => {
    await Promise.all(replicas.map(heal));
    if (fault.end === 'killed') await master.restart();
    else if (fault.end === 'frozen') master.resume();
    else if (fault.end === 'isolated') await deployment.rejoin(master);
    deployment.doors.open(master);
  };
}

const fewest = (granted: Loss['granted']): number =>
  Math.min(...granted.map(({ length }) => length));

/** Whether a server is a master and has some leases. */
async function isMaster(server: Server, leases: readonly Lease[]): Promise<boolean> {
  const role = String(await server.command('ROLE'));
  const found = leases.map(({ key }) => server.command('EXISTS', `holdfast:{${key}}`));
  return role.startsWith('master') && (await Promise.all(found)).every((count) => count === 1);
}

/** The replicas lose their connections to the master, and do not get other ones. */
export async function cut(replicas: readonly Server[], master: Server): Promise<void> {
  for (const replica of replicas) {
    await replica.command('CONFIG', 'SET', 'masteruser', 'unknown');
    await replica.command('CONFIG', 'SET', 'masterauth', 'wrong');
  }
  // one that connects at this moment becomes a replica later
  await until(async () => {
    await master.command('CLIENT', 'KILL', 'TYPE', 'replica');
    return isAlone(master);
  });
}

async function isAlone(master: Server): Promise<boolean> {
  return String(await master.command('INFO', 'replication')).includes('connected_slaves:0\r');
}

export async function heal(replica: Server): Promise<void> {
  await replica.command('CONFIG', 'SET', 'masteruser', '');
  await replica.command('CONFIG', 'SET', 'masterauth', '');
}
