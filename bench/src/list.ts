/**
 * What `list` costs: locks a second, the processor time of the client and of the server for each
 * lock, and the longest call of the server. Another process holds the locks. The server's own time
 * of a call (SLOWLOG, INFO latencystats) is a wall time: it contains the moments in which other
 * programs had its core. So a second list sends one command at a time, and takes the processor time
 * of the server for each.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { connected } from './connected.js';
import { type Kind, startSite } from './scale/sites.js';
import { percentile, type ServerName } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import type { Settings } from './settings.js';

const TTL_MS = 3_600_000;
/** The locks that the other process takes in one turn. */
const STEP = 1000;

const SIZES: Partial<Record<Kind, readonly number[]>> = {
  one: [100_000, 1_000_000],
  quorum: [10_000, 100_000],
};
/** Locks of the list that sends one command at a time. */
const ONE_BY_ONE = 50_000;
const READINGS = 200;
/** Commands that are sent one at a time wait for each other. */
const TIMEOUT_MS = 60_000;
const PAGES_MIN = 10;
const QUICK: typeof SIZES = { one: [10_000], quorum: [1000] };

/** `npm run bench -- --list` */
export async function printLists({ kinds, server, quick }: Settings): Promise<void> {
  console.log('list of held mutexes: pages of SCAN, and calls for up to 128 locks');
  for (const kind of kinds) {
    for (const count of (quick ? QUICK : SIZES)[kind] ?? []) await printList(kind, server, count);
  }
}

async function printList(kind: Kind, server: ServerName, count: number): Promise<void> {
  await using site = await startSite(kind, server);
  const { ports } = site.address;
  const holder = fork(fileURLToPath(import.meta.url), [ports.join(','), `${count}`]);
  try {
    await once(holder, 'message');
    await printHeld(kind, ports, count);
  } finally {
    holder.kill();
  }
}

async function printHeld(kind: Kind, ports: readonly number[], count: number): Promise<void> {
  const { clients, holdfast } = connected(ports);
  const redis = clients[0] as Redis;
  await holdfast.inspect('first');
  await redis.config('SET', 'slowlog-log-slower-than', '2000');
  await redis.slowlog('RESET');
  await redis.config('RESETSTAT');
  const cpu = async (): Promise<number> => {
    const all = await Promise.all(clients.map(async (one) => cpuOf(await one.info('cpu'))));
    return all.reduce((sum, used) => sum + used, 0);
  };
  const serverBefore = await cpu();
  const before = process.cpuUsage();
  const start = performance.now();
  let found = 0;
  for await (const { holderCount } of holdfast.list()) found += holderCount;
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  const each = (us: number): string => `${(us / found).toFixed(1)} µs`;
  const used = (await cpu()) - serverBefore;
  const slow = (await redis.slowlog('GET', 128)) as [unknown, unknown, number, string[]][];
  const longest = Math.max(0, ...slow.map(([, , us]) => us));
  console.log(`  ${kind}: ${found} of ${count}: ${Math.round(found / (ms / 1000))} locks a second`);
  console.log(
    `    for each: ${each(user + system)} of the client, ` + `${each(used)} of the servers`,
  );
  console.log(
    `    calls above 2 ms: ${slow.length}` +
      (slow.length === 0 ? '' : `, the longest ${longest} µs (on a machine with other work: its`) +
      (slow.length === 0 ? '' : ' pauses count too)'),
  );
  const shares = await redis.info('latencystats');
  const evalsha = /^latency_percentiles_usec_evalsha:(.*)$/m.exec(shares)?.[1] ?? '';
  console.log(`    µs of a call for up to 128 locks: ${evalsha.trim()}`);
  const countedFrom = performance.now();
  const counted = await holdfast.count();
  const countMs = performance.now() - countedFrom;
  console.log(`    \`count\`: ${counted}, ${Math.round(counted / (countMs / 1000))} a second`);
  await printProcessorTimes(kind, ports);
  for (const client of clients) client.disconnect();
}

/** The longest time that one command of a list took of the server's processor. */
async function printProcessorTimes(kind: Kind, ports: readonly number[]): Promise<void> {
  if (kind !== 'one') return;
  const { clients, holdfast } = connected(ports, { requestTimeout: TIMEOUT_MS });
  const [redis] = clients as [Redis];
  const observer = new Redis({ host: '127.0.0.1', port: ports[0] as number });
  const cpu = async (): Promise<number> => cpuOf(await observer.info('cpu'));
  // what the reading itself takes
  const readings: number[] = [];
  for (let at = 0; at < READINGS; at++) readings.push(-(await cpu()) + (await cpu()));
  const own = percentile(readings, 50);
  const times = new Map<string, number[]>();
  const send = redis.sendCommand.bind(redis);
  let last: Promise<unknown> = Promise.resolve();
  redis.sendCommand = (command, stream) => {
    const mine = last.then(async () => {
      const before = await cpu();
      await Promise.resolve(send(command, stream)).catch(() => undefined);
      const all = times.get(command.name) ?? [];
      times.set(command.name, [...all, (await cpu()) - before - own]);
    });
    last = mine;
    return command.promise;
  };
  let found = 0;
  for await (const { holderCount } of holdfast.list()) {
    found += holderCount;
    if (found >= ONE_BY_ONE) break;
  }
  await last;
  for (const [name, all] of times) {
    if (all.length < PAGES_MIN) continue;
    console.log(
      `    ${name}, ${all.length} times one at a time, µs of the server's processor: ` +
        `p50 ${percentile(all, 50)}, p99 ${percentile(all, 99)}, at most ${Math.max(...all)}`,
    );
  }
  for (const client of [observer, ...clients]) client.disconnect();
}

/** The processor time of the server, in µs. */
function cpuOf(info: string): number {
  const seconds = /^used_cpu_(?:user|sys):([\d.]+)/gm;
  return [...info.matchAll(seconds)].reduce((sum, [, used]) => sum + 1e6 * Number(used), 0);
}

/** Takes locks and keeps them. */
async function hold(ports: readonly number[], count: number): Promise<void> {
  const { holdfast } = connected(ports, { ttl: TTL_MS });
  for (let from = 0; from < count; from += STEP) {
    const taken = Array.from({ length: STEP }, (_, at) =>
      holdfast.mutex(`order:${from + at}`).acquire(),
    );
    await Promise.all(taken);
  }
  process.send?.('done');
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [ports = '', count] = argv.slice(2);
  await hold(ports.split(',').map(Number), Number(count));
}
