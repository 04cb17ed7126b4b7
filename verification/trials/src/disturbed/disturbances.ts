/**
 * What happens to programs while their servers keep all that they have: an address leads to a
 * replica, a password is replaced, a replica leaves, slots are half moved, connections die.
 */
import { type Server, sleep, startServer } from 'holdfast-testkit';
import type { Deployment, Login } from '../fail-over/deployments.js';
import { cut, heal } from '../fail-over/faults.js';
import type { Connected } from '../support/clients.js';
import { between, type Random } from '../support/random.js';

export interface Scene {
  readonly deployment: Deployment;
  readonly master: Server;
  readonly random: Random;
  /** The login of the programs. */
  readonly login: Login;
  readonly clients: readonly Connected[];
  /** The keys that the programs use. */
  readonly keys: readonly string[];
  /** A planted fault. */
  readonly fault: string | undefined;
}

export interface Disturbance {
  readonly name: string;
  /** Whether the replicas must acknowledge grants. */
  readonly acknowledged: boolean;
  /** Whether the locks that have one user are granted and freed meanwhile. */
  readonly works: boolean;
  /** Whether the store answers all the time. */
  readonly answers?: boolean;
  /** The clients that recover by themselves; by default all. */
  readonly clients?: 'ioredis' | 'node-redis';
  /** Whether a waiter that got a lock may fail to confirm it in time. */
  readonly ends?: boolean;
  /** The planted fault of this disturbance, which the trial must find. */
  readonly fault?: string;
  /** Disturbs; resolves to the function that ends it. */
  readonly begin: (scene: Scene) => Promise<() => Promise<void>>;
}

/** How long a disturbance lasts at least, in ms. */
export const LASTS_MS = [1500, 3000] as const;

/** The doors of the master lead to another server. */
function ledTo(find: (scene: Scene) => Promise<{ to: Server; readonly end: () => Promise<void> }>) {
  return async (scene: Scene): Promise<() => Promise<void>> => {
    const { deployment, master, fault } = scene;
    const { to, end } = await find(scene);
    if (fault === 'writable-replica') await to.command('CONFIG', 'SET', 'replica-read-only', 'no');
    // the locks that are granted from now on are not at a replica that lags
    await sleep(between(scene.random, 200, 500));
    deployment.doors.lead(master, to);
    return async () => {
      deployment.doors.lead(master, master);
      await end();
    };
  };
}

const toEmptyReplica: Disturbance = {
  name: 'the address leads to an empty replica',
  ...{ acknowledged: false, works: false, fault: 'writable-replica' },
  begin: ledTo(async ({ master: { name }, login }) => {
    const users = [`${login.username} on >${login.password} ~* &* +@all`];
    // its master does not exist
    const to = await startServer({ server: name, users, args: ['--replicaof', '127.0.0.1', '1'] });
    return { to, end: () => to.stop() };
  }),
};

const toLaggingReplica: Disturbance = {
  name: 'the address leads to a replica that lags',
  ...{ acknowledged: false, works: false },
  begin: ledTo(async ({ deployment, master }) => {
    const replicas = await deployment.replicasOf(master);
    await cut(replicas, master);
    return {
      to: replicas[0] as Server,
      end: async () => void (await Promise.all(replicas.map(heal))),
    };
  }),
};

let passwords = 0;

/** The connections for messages are lost before the programs know the new password. */
const newPassword: Disturbance = {
  name: 'the password is replaced',
  ...{ acknowledged: false, works: false },
  async begin({ deployment: { nodes }, login, clients, random, fault }) {
    const password = `password-${(passwords += 1)}`;
    const { username } = login;
    const all = (...words: string[]): Promise<unknown> =>
      Promise.all(nodes.map((node) => node.command(...words)));
    await all('ACL', 'SETUSER', username, 'resetpass', `>${password}`);
    await all('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await sleep(between(random, 100, 2500));
    return async () => {
      if (fault !== 'untold-password') login.password = password;
      for (const { relogin } of clients) relogin?.();
      await sleep(between(random, 0, 500));
      await all('CLIENT', 'KILL', 'USER', username);
    };
  },
};

function replicaLeaves(how: 'killed' | 'frozen' | 'cut off'): Disturbance {
  return {
    name: `a replica is ${how} for a while`,
    ...{ acknowledged: true, works: false },
    async begin({ deployment, master }) {
      const replica = (await deployment.replicasOf(master))[0] as Server;
      if (how === 'killed') await replica.kill();
      else if (how === 'frozen') replica.pause();
      else await cut([replica], master);
      return async () => {
        if (how === 'killed') await replica.restart();
        else if (how === 'frozen') replica.resume();
        else await heal(replica);
      };
    },
  };
}

/** The records of locks are at their former master or at the next one; their other keys are not. */
const openSlots: Disturbance = {
  name: 'a resharding stops half way',
  ...{ acknowledged: false, works: true, ends: true, fault: 'one-sided' },
  async begin({ deployment, keys, fault }) {
    const moves = await deployment.halfMove?.(keys);
    if (fault === 'one-sided') await moves?.forget();
    return async () => moves?.finish();
  },
};

type Sent = (name: string) => boolean;

const listens = (sent: Sent): boolean => sent('subscribe') || sent('ssubscribe');

/** By what they are for: which connections die. */
const SILENT = {
  'wake-ups': listens,
  acknowledgements: (sent: Sent) => sent('wait'),
  calls: (sent: Sent) => !listens(sent),
};

/** Connections of the programs stay open and lose all bytes. */
function silent(which: keyof typeof SILENT): Disturbance {
  return {
    name: `the connections for ${which} die silently`,
    ...{ acknowledged: which === 'acknowledgements', works: which === 'wake-ups' },
    answers: which === 'wake-ups',
    // node-redis does not notice: docs/clients.md
    ...(which === 'calls' && { clients: 'ioredis' }),
    async begin({ deployment: { doors } }) {
      doors.silence(SILENT[which]);
      return async () => undefined;
    },
  };
}

const ON_BOTH: readonly Disturbance[] = [
  toLaggingReplica,
  ...[replicaLeaves('killed'), replicaLeaves('frozen'), replicaLeaves('cut off')],
  ...[silent('wake-ups'), silent('acknowledgements'), silent('calls')],
];

/** The first one is part of the test suite. */
export const SENTINEL: readonly Disturbance[] = [
  toEmptyReplica,
  { ...newPassword, fault: 'untold-password' },
  ...ON_BOTH,
];
export const CLUSTER: readonly Disturbance[] = [
  openSlots,
  // a cluster client of ioredis 6 keeps the password of its birth
  { ...newPassword, clients: 'node-redis' },
  ...ON_BOTH,
];
