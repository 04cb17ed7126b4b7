/**
 * The ways in which the memory or the clock of a master changes while leases are held: the master
 * starts again before a fail-over, a server with another clock takes over, or slots move to one.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Server, until } from 'holdfast-testkit';
import type { Deployment } from '../fail-over/deployments.js';
import { trouble } from '../fail-over/scenario.js';

export interface Change {
  readonly name: string;
  /** Brings the master into the state in which the leases are granted. */
  readonly prepare: (master: Server) => Promise<void>;
  /** Resolves when the deployment works again, to the function that ends the change. */
  readonly apply: (change: Applied) => Promise<() => Promise<void>>;
}

interface Applied {
  readonly deployment: Deployment;
  readonly master: Server;
  /** The keys of the locks that are held. */
  readonly keys: readonly string[];
}

const nothing = async (): Promise<void> => undefined;

interface Saving {
  readonly name: string;
  readonly prepare: Change['prepare'];
  /** Further arguments of the start. */
  readonly args: readonly string[];
}

/** What the master saves before the leases are granted, or with them. */
const SAVING: readonly Saving[] = [
  {
    name: 'without saving',
    // a replica saves what it copies
    prepare: (master) => rm(join(master.folder, 'dump.rdb'), { force: true }),
    args: [],
  },
  {
    name: 'with an older snapshot',
    prepare: async (master) => void (await master.command('SAVE')),
    args: [],
  },
  { name: 'with an append-only file', prepare: appendOnly, args: ['--appendonly', 'yes'] },
];

async function appendOnly(master: Server): Promise<void> {
  await master.command('CONFIG', 'SET', 'appendonly', 'yes');
  const isOn = async (): Promise<boolean> => {
    const info = String(await master.command('INFO', 'persistence'));
    const states = ['enabled:1', 'rewrite_in_progress:0', 'rewrite_scheduled:0'];
    return states.every((state) => info.includes(`aof_${state}\r`));
  };
  await until(isOn, { within: 15_000, every: 20, what: 'the append-only file is written' });
}

const AFTERWARDS = ['replaced', 'killed', 'master again'] as const;

/** The first one is part of the test suite. */
export const RESTARTS: readonly Change[] = AFTERWARDS.flatMap((then) =>
  SAVING.map(({ name, prepare, args }) => ({
    name: `restarted ${name}, then ${then}`,
    prepare,
    async apply({ deployment, master }: Applied) {
      await master.kill();
      await master.restart({ args });
      await isFollowed(deployment, master);
      if (then === 'replaced') await replaced(deployment, master);
      if (then === 'killed') await killed(deployment, master);
      return async () => {
        await Promise.all(deployment.nodes.map((one) => one.command('CONFIG', 'SET', ...NO_FILE)));
      };
    },
  })),
);

const NO_FILE = ['appendonly', 'no'] as const;

/** The first one is part of the test suite. */
export const CLOCKS: readonly Change[] = [
  {
    name: 'replaced',
    prepare: nothing,
    async apply({ deployment, master }) {
      await replaced(deployment, master);
      return nothing;
    },
  },
  {
    name: 'killed',
    prepare: nothing,
    async apply({ deployment, master }) {
      await killed(deployment, master);
      return nothing;
    },
  },
];

/** Of a cluster. */
export const MOVES: readonly Change[] = [
  moved('slots moved', 0),
  // meanwhile, the calls of a lock that others wait for are refused
  moved('slots half moved for 2 s, then moved', 2000),
];

function moved(name: string, pause: number): Change {
  return {
    name,
    prepare: nothing,
    async apply({ deployment, keys }) {
      return (await deployment.move?.(keys, pause)) ?? nothing;
    },
  };
}

/** The replicas have copied what the master has. */
async function isFollowed(deployment: Deployment, master: Server): Promise<void> {
  for (const replica of await deployment.replicasOf(master)) {
    const isUp = async (): Promise<boolean> => {
      const info = String(await replica.command('INFO', 'replication'));
      return info.includes(`master_port:${master.port}\r`) && info.includes('link_status:up\r');
    };
    const patience = { within: 30_000, every: 20 };
    await until(isUp, patience).catch(trouble('the replicas did not follow the master'));
  }
}

async function replaced(deployment: Deployment, master: Server, how?: 'by force'): Promise<void> {
  // a server that watches may not have seen yet that the replicas follow again
  const begins = (): Promise<boolean> => deployment.replace(master, how).then(() => true);
  const patience = { within: 15_000, every: 100 };
  await until(begins, patience).catch(trouble('the fail-over did not begin'));
  await deployment.successor(master).catch(trouble('the servers elected no master'));
}

/** Killed once more: this time, another server becomes the master before it starts. */
async function killed(deployment: Deployment, master: Server): Promise<void> {
  await master.kill();
  await replaced(deployment, master, 'by force');
  await master.restart();
}
