/** What each thing costs: a pair, a lease, a renewal, a hand-off, a waiter, a key, a connection. */
import { type ServerName, SLOTS, sleep } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { Meter, minus } from './meter.js';
import type { Answer, Order } from './orders.js';
import { type Kind, type Site, startSite } from './sites.js';
import type { TeamSettings } from './team.js';
import {
  type Bench,
  type Cost,
  costOf,
  LISTENS_MS,
  type Part,
  PARTS,
  processesOf,
  type Row,
  type Sizes,
  spread,
  type Thing,
  weigh,
  withTeam,
} from './measuring.js';
import { local, processWaiters, waiters } from './waiting.js';

/** Leases that a process has before others are measured. */
const WARM = 10;
/** Of hand-offs: each wakes another process. */
const CONTENDERS = 10;
/** One instance each: those of one process would wake it together. */
const PACED: TeamSettings = { processes: 2 };
/** What clusters of different sizes do. */
const ON_MASTERS = { pairs: [30], leases: [5000] };
const CONNECTIONS = 200;
/** The time after which a connection is not busy any more, for its server. */
const BUFFERS_MS = 8000;
const MANY_TTL = 60_000;
/** On a quorum, each lease is renewed alone: ms for each, so one process can do it. */
const ALONE_TTL = 1.5;
/** How long a lock is held in a hand-off. */
const WORK_MS = 1;

export async function measureKind(
  kind: Kind,
  server: ServerName,
  sizes: Sizes,
  add: (row: Row) => void,
  parts: readonly Part[] = PARTS,
): Promise<void> {
  await using site = await startSite(kind, server);
  await using meter = await Meter.start(site);
  const note = (thing: Thing, at: number, cost: Cost): void => add({ kind, thing, at, cost });
  const bench: Bench = { site, meter, sizes, note };
  const [anywhere, shared] = [true, kind !== 'memory'];
  const [redis, cluster] = [site.servers.length > 0, kind === 'cluster'];
  const all: readonly (readonly [Part, boolean, (bench: Bench) => Promise<void>])[] = [
    ['servers', redis, servers],
    ['pairs', anywhere, pairs],
    ['paced', anywhere, pacedPairs],
    ['leases', anywhere, leases],
    ['hand-offs', shared, handOffs],
    ['waiters', shared, waiters],
    ['local', anywhere, local],
    ['process-waiters', shared, processWaiters],
    ['keys', anywhere, keys],
    ['connections', redis, connections],
    ['messages', redis, messages],
    ['masters', cluster, (of) => masters(of, server)],
  ];
  for (const [part, fits, measure] of all) {
    if (fits && parts.includes(part)) await measure(bench);
  }
}

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
      await sleep(bench.site.servers.length > 0 ? BUFFERS_MS : 0);
      const { memory } = minus(busy, await meter.read());
      if (bench.site.servers.length > 0) {
        bench.note('busy connection', instances, { serverBytes: memory / instances });
      }
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
    await meter.rest(sizes.rests);
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
  const { meter, site, sizes } = bench;
  for (const locks of sizes.leases) {
    const alone = site.address.kind === 'quorum' ? ALONE_TTL * locks : 0;
    const ttl = locks < sizes.many ? sizes.ttl : Math.max(MANY_TTL, alone);
    await withTeam(bench, { ttl }, async (team) => {
      // the process listens, and each part of it was used
      await team.ask({ do: 'hold', locks: WARM });
      await sleep(LISTENS_MS);
      const before = await meter.read();
      const empty = await weigh(team);
      await team.ask({ do: 'hold', locks });
      await sleep(LISTENS_MS);
      const grown = minus(await meter.read(), before);
      const start = await team.ask({ do: 'rest', ms: 0 });
      const ms = 2.5 * ttl;
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

/** Pairs and renewals on clusters of different sizes. */
async function masters(bench: Bench, server: ServerName): Promise<void> {
  const names: Partial<Record<Thing, Thing>> = {
    ...{ pair: 'pair of masters', renewal: 'renewal of masters' },
  };
  for (const count of bench.sizes.masters) {
    await using site = await startSite('cluster', server, count);
    await using meter = await Meter.start(site);
    const sizes = { ...bench.sizes, ...ON_MASTERS };
    const note: Bench['note'] = (thing, _, cost) => {
      const name = names[thing];
      if (name !== undefined) bench.note(name, count, cost);
    };
    const own: Bench = { site, meter, sizes, note };
    await pairs(own);
    await leases(own);
  }
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
