/**
 * A lease is on two of three servers, the least that makes it valid. One of the two restarts
 * without its memory, and the other one is frozen. A process that asks the remaining two servers
 * must not get a second lease: the restarted one does not vote.
 */
import { Holdfast, type Lease, quorum, type RedisClient } from 'holdfast';
import { type Server, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { type Connected, connect } from './support/clients.js';
import { Problems } from './support/problems.js';
import { type Random, randomFrom } from './support/random.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

/** How long one server may be silent, in ms. */
const SILENT_MS = 100;
/** Longer than a trial. */
const TTL = 20_000;
const GUARD = 60_000;
const SERVERS = 3;
/** How long all servers may take to have one value, in ms; then they are marked again. */
const VALUE_MS = 2000;
const PATIENCE = { within: 20_000 };

interface Scenario {
  readonly servers: readonly Server[];
  /** The clients of the holder, of the other process, and of a process that marks the servers. */
  readonly holder: readonly Connected[];
  readonly other: readonly Connected[];
  readonly first: readonly Connected[];
  readonly guard: number;
  readonly random: Random;
  /** Instances of earlier repetitions. */
  readonly closing: Promise<void>[];
}

/** The result of one repetition. */
interface Outcome {
  readonly granted: boolean;
  readonly twice: boolean;
}

const clientsOf = (connected: readonly Connected[]): RedisClient[] => {
  return connected.map(({ client }) => client);
};

const nothing = (): Lease | null => null;

/** Asks a server through its client. All clients of the trials have `ping`. */
const ping = ({ client }: Connected): Promise<unknown> => {
  return (client as RedisClient & { ping(): Promise<unknown> }).ping();
};

/** A client of a server that cannot be reached. */
function unreachable(): Connected {
  const client = new Redis({ port: 1, lazyConnect: true, enableOfflineQueue: false });
  client.on('error', () => undefined);
  return { client, close: () => client.disconnect() };
}

async function run(parameters: Parameters): Promise<Verdict> {
  const { client, fault, seed, trials, server: name } = parameters;
  const start = (): Promise<Server> => startServer({ server: name });
  const servers = await Promise.all(Array.from({ length: SERVERS }, start));
  const all = (): Promise<Connected[]> => {
    return Promise.all(servers.map(({ url }) => connect(client, url)));
  };
  const [holder, other, first] = await Promise.all([all(), all(), all()]);
  const guard = fault === 'no-guard' ? 0 : GUARD;
  const random = randomFrom(seed);
  const closing: Promise<void>[] = [];
  const scenario = { servers, holder, other, first, guard, random, closing };
  const problems = new Problems();
  let [granted, refused] = [0, 0];
  try {
    // a client that is still connecting again cannot mark its server: then there is no lease
    for (let number = 0; granted < trials && number < 2 * trials; number++) {
      const outcome = await once(scenario, `t${number}:`);
      if (!outcome.granted) continue;
      granted += 1;
      if (outcome.twice) problems.add('two holders', `trial ${number}`);
      else refused += 1;
    }
  } finally {
    await Promise.all(closing);
    for (const one of [...holder, ...other, ...first]) one.close();
    await Promise.all(servers.map((server) => server.stop()));
  }
  if (granted < trials) problems.add('no lease', `only ${granted} of ${trials}`, trials - granted);
  const figures = { leases: granted, refused };
  return verdict({ ...figures, 'two holders': problems.count('two holders') }, problems.list());
}

/** @param prefix that of this repetition: it has markers and locks of its own */
async function once(scenario: Scenario, prefix: string): Promise<Outcome> {
  const { servers, first, other, guard, random } = scenario;
  const [away, ...near] = shuffled(random) as [number, number, number];
  const open = (clients: readonly Connected[], durable: boolean): Holdfast => {
    const terms = { serverTimeout: SILENT_MS, restartGuard: guard, durable };
    return new Holdfast(quorum(clientsOf(clients), terms), { prefix, ttl: TTL });
  };
  await until(() => marked(open(first, true), servers, `${prefix}lock:first`), PATIENCE);
  const cut = unreachable();
  const holds = open(scenario.holder.with(away, cut), false);
  const asks = open(other, false);
  const [forgets, freezes] = near.map((at) => servers[at]) as [Server, Server];
  const back = other[near[0]] as Connected;
  try {
    const lease = await holds.mutex('k').acquire().catch(nothing);
    if (lease === null) return { granted: false, twice: false };
    await forgets.restart();
    // otherwise the restarted server might not be asked, and the trial would show nothing
    await until(() => ping(back), PATIENCE);
    freezes.pause();
    const second = await asks.mutex('k').tryAcquire().catch(nothing);
    return { granted: lease.held, twice: second !== null && lease.held };
  } finally {
    freezes.resume();
    // a majority is not there for the release: closing takes some seconds
    const closing = [holds, asks].map((one) => one.close({ grace: 0 }));
    scenario.closing.push(Promise.all(closing).then(() => cut.close()));
  }
}

/**
 * The servers are new to a prefix: a process that trusts them sets their markers, and ends. It
 * sends its last value to the third server some time later, and would trust that server again if
 * the server restarted before. Resolves when all servers have that value, and rejects if one does
 * not get it: a server that was silent for too long gets none until the next use.
 */
async function marked(
  trusting: Holdfast,
  servers: readonly Server[],
  key: string,
): Promise<boolean> {
  try {
    await trusting.mutex('first').run(() => undefined);
  } finally {
    await trusting.close();
  }
  return until(() => haveOneValue(servers, key), { within: VALUE_MS });
}

/** True if all servers have accepted the same value of a key. */
async function haveOneValue(servers: readonly Server[], key: string): Promise<boolean> {
  const ballots = await Promise.all(servers.map((server) => server.command('HGET', key, 'b')));
  return ballots[0] !== null && new Set(ballots).size === 1;
}

/** The places of the servers in a random order. */
function shuffled(random: Random): number[] {
  const places = Array.from({ length: SERVERS }, (_, at) => at);
  return places
    .map((at) => ({ at, by: random() }))
    .sort((a, b) => a.by - b.by)
    .map(({ at }) => at);
}

export const trial: Trial = {
  name: 'forgotten-votes',
  claim: 'a server that restarts without its memory does not let a second process hold the lock',
  full: { trials: 1000 },
  share: { trials: 3 },
  faults: ['no-guard'],
  run,
};
