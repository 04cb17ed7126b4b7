/** What each thing costs: a pair, a lease, a renewal, a hand-off, a waiter, a key, a connection. */
import { type ServerName, SLOTS, sleep } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { Meter, minus, type Reading } from './meter.js';
import type { Answer, Order } from './orders.js';
import { type Kind, type Site, startSite } from './sites.js';
import { Team, type TeamSettings } from './team.js';

export type Thing =
  | 'server'
  | 'pair'
  | 'paced pair'
  | 'hand-off'
  | 'local hand-off'
  | 'lease'
  | 'renewal'
  | 'waiter'
  | 'local waiter'
  | 'key'
  | 'connection'
  | 'busy connection'
  | 'message'
  | 'plain message';

/** What one of them costs. A figure that was not measured is missing. */
export interface Cost {
  readonly commands?: number;
  readonly inner?: number;
  readonly messages?: number;
  /** Processor time of all servers, and of all clients, in µs. */
  readonly server?: number;
  readonly client?: number;
  /** Bytes to the servers, from them, and between them. */
  readonly received?: number;
  readonly sent?: number;
  readonly between?: number;
  /** Bytes of memory of all servers, and of the client. */
  readonly serverBytes?: number;
  readonly clientBytes?: number;
  readonly connections?: number;
}

export interface Row {
  readonly kind: Kind;
  readonly thing: Thing;
  /** How many processes, leases or waiters; of a paced pair the pause in ms. */
  readonly at: number;
  /** Of one; of a waiter in one second. */
  readonly cost: Cost;
}

export interface Sizes {
  readonly pairs: readonly number[];
  /** Between two pairs of an instance, in ms, for pairs that wake idle programs. */
  readonly pauses: readonly number[];
  readonly leases: readonly number[];
  readonly processes: readonly number[];
  readonly waiters: readonly number[];
  readonly keys: number;
  /** Pairs and grants of a measurement. */
  readonly operations: number;
  /** For how many ttls renewals are counted. */
  readonly ttl: number;
  /** How long waiters are watched, and the time until they have reached their pauses. */
  readonly restMs: number;
  readonly settlingMs: number;
}

/** Leases that a process has before others are measured, and the time in which it listens. */
const WARM = 10;
const LISTENS_MS = 2500;
/** Processes of the system that share the instances. */
const WORKERS = 4;
/** Of hand-offs: each wakes another process. */
const CONTENDERS = 10;
/** One instance each: those of one process would wake it together. */
const PACED: TeamSettings = { processes: 2 };
const CONNECTIONS = 200;
const SETTLING_TURNS = 12;
/** The time after which a connection is not busy any more, for its server. */
const BUFFERS_MS = 8000;
/** How long a lock is held in a hand-off. */
const WORK_MS = 1;

function costOf(change: Reading, count: number, answer?: Answer): Cost {
  const { commands, inner, messages, cpu, received, sent, between } = change;
  const client = answer === undefined ? {} : { client: answer.cpu / count };
  return {
    ...{ commands: commands / count, inner: inner / count, messages: messages / count },
    ...{ server: cpu / count, ...client, received: received / count, sent: sent / count },
    between: between / count,
  };
}

export async function measureKind(
  kind: Kind,
  server: ServerName,
  sizes: Sizes,
  add: (row: Row) => void,
): Promise<void> {
  await using site = await startSite(kind, server);
  await using meter = await Meter.start(site);
  const note = (thing: Thing, at: number, cost: Cost): void => add({ kind, thing, at, cost });
  const bench: Bench = { site, meter, sizes, note };
  if (site.servers.length > 0) await servers(bench);
  await pairs(bench);
  await pacedPairs(bench);
  await leases(bench);
  if (kind !== 'memory') {
    await handOffs(bench);
    await waiters(bench);
  }
  await local(bench);
  await keys(bench);
  if (site.servers.length > 0) {
    await connections(bench);
    await messages(bench);
  }
}

interface Bench {
  readonly site: Site;
  readonly meter: Meter;
  readonly sizes: Sizes;
  readonly note: (thing: Thing, at: number, cost: Cost) => void;
}

/** A load with processes of its own; the servers are empty at its start. */
async function withTeam(
  { site, meter }: Bench,
  settings: TeamSettings,
  work: (team: Team) => Promise<void>,
): Promise<void> {
  for (const master of site.masters) await master.command('FLUSHALL');
  await using team = await Team.start(site, settings);
  await meter.rest();
  await work(team);
}

/** The memory of the processes, after the second of two collections. */
async function weigh(team: Team): Promise<number> {
  await team.ask({ do: 'weigh' });
  return (await team.ask({ do: 'weigh' })).heap;
}

const processesOf = (instances: number, most = WORKERS): number => Math.min(most, instances);

const spread = (instances: number, most?: number): TeamSettings => ({
  processes: processesOf(instances, most),
  instances,
});

/** The servers at rest, with the scripts and one process. */
async function servers(bench: Bench): Promise<void> {
  const { meter, site } = bench;
  await withTeam(bench, {}, async () => {
    const { memory } = await meter.read();
    const server = meter.idle.cpu / site.servers.length;
    bench.note('server', 1, { server, serverBytes: memory / site.servers.length });
  });
}

async function pairs(bench: Bench): Promise<void> {
  const { meter, sizes } = bench;
  for (const instances of sizes.pairs) {
    await withTeam(bench, spread(instances), async (team) => {
      const pairs = Math.ceil(Math.max(instances * 4, sizes.operations) / processesOf(instances));
      await team.ask({ do: 'pairs', pairs });
      await team.ask({ do: 'pairs', pairs });
      // after a rest, a server gives the buffers of its connections back
      const busy = await meter.read();
      await sleep(BUFFERS_MS);
      const { memory } = minus(busy, await meter.read());
      bench.note('busy connection', instances, { serverBytes: memory / instances });
      const loop: Order = { do: 'loop', ms: sizes.restMs / 4, work: 0, pause: 0 };
      const { result, change } = await meter.during(() => team.ask(loop));
      bench.note('pair', instances, costOf(change, result.done, result));
    });
  }
}

/** Pairs of processes that do little else: most of their commands wake a program. */
async function pacedPairs(bench: Bench): Promise<void> {
  const { meter, sizes } = bench;
  await withTeam(bench, PACED, async (team) => {
    await team.ask({ do: 'pairs', pairs: sizes.operations });
    // what the instances do after their start is over
    await sleep(LISTENS_MS);
    await meter.rest();
    for (const pause of sizes.pauses) {
      const loop: Order = { do: 'loop', ms: sizes.restMs / 2, work: 0, pause };
      const { result, change } = await meter.during(() => team.ask(loop));
      bench.note('paced pair', pause, costOf(change, result.done, result));
    }
  });
}

async function handOffs(bench: Bench): Promise<void> {
  const { meter, sizes } = bench;
  for (const instances of sizes.processes) {
    await withTeam(bench, spread(instances, CONTENDERS), async (team) => {
      const grants = Math.max(4, Math.ceil(sizes.operations / 4 / instances));
      const contend = (key: string, times: number): Promise<Answer> =>
        team.ask({ do: 'contend', key, grants: times, work: WORK_MS });
      await contend('first', 2);
      const { result, change } = await meter.during(() => contend('second', grants));
      bench.note('hand-off', instances, costOf(change, result.done, result));
    });
  }
}

/** Leases of one process, and their renewals. */
async function leases(bench: Bench): Promise<void> {
  const { meter, sizes } = bench;
  for (const locks of sizes.leases) {
    await withTeam(bench, { ttl: sizes.ttl }, async (team) => {
      // the process listens, and each part of it was used
      await team.ask({ do: 'hold', locks: WARM });
      await sleep(LISTENS_MS);
      const before = await meter.read();
      const empty = await weigh(team);
      await team.ask({ do: 'hold', locks });
      await sleep(LISTENS_MS);
      const grown = minus(await meter.read(), before);
      const start = await team.ask({ do: 'rest', ms: 0 });
      const ms = 2.5 * sizes.ttl;
      const { result, change } = await meter.during(() => team.ask({ do: 'rest', ms }));
      const renewals = result.renewals - start.renewals;
      const lost = locks + WARM - result.held;
      if (lost !== 0) throw new Error(`${lost} leases were lost`);
      const full = await weigh(team);
      bench.note('lease', locks, {
        serverBytes: grown.memory / locks,
        clientBytes: (full - empty) / locks,
      });
      if (renewals > 0) bench.note('renewal', locks, costOf(change, renewals, result));
      await team.ask({ do: 'drop' });
    });
  }
}

/** Idle waiters of one key, each in an instance of its own: the cost in a second. */
async function waiters(bench: Bench): Promise<void> {
  const { meter, sizes, site } = bench;
  for (const count of sizes.waiters) {
    const shared = site.address.kind !== 'quorum' && site.address.kind !== 'postgres';
    await withTeam(bench, { ...spread(count), shared, ttl: 600_000 }, async (team) => {
      await using holder = await Team.start(site, { ttl: 600_000 });
      await holder.ask({ do: 'queue', key: 'waited', calls: 1 });
      // the holder tells the server that it listens
      await sleep(2 * LISTENS_MS);
      await meter.rest();
      const before = await meter.read();
      const empty = await weigh(team);
      await team.ask({ do: 'wait', key: 'waited' });
      await settle(bench, team);
      const grown = minus(await meter.read(), before);
      const { result, change, seconds } = await meter.during(() =>
        team.ask({ do: 'rest', ms: sizes.restMs }),
      );
      bench.note('waiter', count, {
        ...costOf(change, count * seconds, result),
        serverBytes: grown.memory / count,
        clientBytes: ((await weigh(team)) - empty) / count,
        connections: grown.connections / count,
      });
      await team.ask({ do: 'drop' });
    });
  }
}

/** Until the waiters have reached their pauses: their polls do not become fewer. */
async function settle({ meter, sizes }: Bench, team: Team): Promise<void> {
  let last = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < SETTLING_TURNS; turn++) {
    const rest: Order = { do: 'rest', ms: sizes.settlingMs / 2 };
    const { change, seconds } = await meter.during(() => team.ask(rest));
    const rate = change.commands / seconds;
    if (rate > last * 0.9) return;
    last = rate;
  }
}

/** Tasks of one process that wait for one key, and hand it on. */
async function local(bench: Bench): Promise<void> {
  const { meter, sizes } = bench;
  const calls = sizes.operations;
  await withTeam(bench, { ttl: 600_000 }, async (team) => {
    await team.ask({ do: 'queue', key: 'local', calls: 1 });
    const empty = await weigh(team);
    await team.ask({ do: 'queue', key: 'local', calls });
    const heap = (await weigh(team)) - empty;
    bench.note('local waiter', calls, { clientBytes: heap / calls });
    const { result, change } = await meter.during(() => team.ask({ do: 'pass', calls }));
    bench.note('local hand-off', calls, costOf(change, calls, result));
  });
}

/** Keys that were used, and are remembered for the retention. */
async function keys(bench: Bench): Promise<void> {
  const { meter, sizes } = bench;
  await withTeam(bench, {}, async (team) => {
    const before = await meter.read();
    await team.ask({ do: 'use', keys: sizes.keys });
    const { memory } = minus(await meter.read(), before);
    bench.note('key', sizes.keys, { serverBytes: memory / sizes.keys });
  });
}

/** Connections of the client that do nothing. */
async function connections({ meter, note, site }: Bench): Promise<void> {
  const port = site.address.ports[0] as number;
  const before = await meter.read();
  const clients = Array.from({ length: CONNECTIONS }, () => new Redis({ port }));
  await Promise.all(clients.map((client) => client.ping()));
  await sleep(1000);
  const { change, seconds } = await meter.during(() => sleep(3000));
  const { memory } = minus(await meter.read(), before);
  for (const client of clients) client.disconnect();
  const server = change.cpu / seconds / CONNECTIONS;
  note('connection', CONNECTIONS, { server, serverBytes: memory / CONNECTIONS });
}

const MESSAGES = 5000;
/** About the length of a grant. */
const TEXT = 'm'.repeat(120);

/**
 * Messages of a wake channel with one receiver. On a cluster they are sharded; a plain message goes
 * to all nodes, which shows that the bytes between the nodes are seen.
 */
async function messages({ meter, note, site }: Bench): Promise<void> {
  const [master] = site.masters;
  if (master === undefined) return;
  const { port } = master;
  const channel = await channelOf(site);
  const sharded = site.address.kind === 'cluster';
  for (const command of sharded ? (['SPUBLISH', 'PUBLISH'] as const) : (['PUBLISH'] as const)) {
    const [sender, receiver] = [new Redis({ port }), new Redis({ port })];
    await (command === 'SPUBLISH' ? receiver.ssubscribe(channel) : receiver.subscribe(channel));
    await meter.rest();
    const { change } = await meter.during(async () => {
      for (let sent = 0; sent < MESSAGES; sent++) await sender.call(command, channel, TEXT);
    });
    for (const client of [sender, receiver]) client.disconnect();
    const plain = sharded && command === 'PUBLISH';
    const cost = { ...costOf(change, MESSAGES), commands: 1, inner: 0 };
    note(plain ? 'plain message' : 'message', MESSAGES, cost);
  }
}

/** A channel whose slot is at the first master. */
async function channelOf(site: Site): Promise<string> {
  if (site.address.kind !== 'cluster') return 'channel';
  const [first] = site.masters;
  for (let number = 0; ; number++) {
    const channel = `channel ${number}`;
    const slot = Number(await first?.command('CLUSTER', 'KEYSLOT', channel));
    if (slot < Math.floor(SLOTS / site.masters.length)) return channel;
  }
}
