/**
 * What `list` costs: locks a second, the processor time of the client and of the server for each
 * lock, and the longest call of the server. Another process holds the locks.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Holdfast } from 'holdfast';
import { startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import type { Settings } from './settings.js';

const TTL_MS = 3_600_000;
/** The locks that the other process takes in one turn. */
const STEP = 10_000;

/** `npm run bench -- --list` */
export async function printLists({ server, quick }: Settings): Promise<void> {
  console.log('list of held mutexes: pages of SCAN, and calls for up to 128 locks');
  for (const count of quick ? [10_000] : [100_000, 1_000_000]) {
    await using target = await startServer({ server });
    const holder = fork(fileURLToPath(import.meta.url), [`${target.port}`, `${count}`]);
    await once(holder, 'message');
    const redis = new Redis({ host: '127.0.0.1', port: target.port });
    await new Holdfast(redis).inspect('first');
    await redis.config('SET', 'slowlog-log-slower-than', '2000');
    await redis.slowlog('RESET');
    await redis.config('RESETSTAT');
    const serverBefore = cpuOf(await redis.info('cpu'));
    const before = process.cpuUsage();
    const start = performance.now();
    let found = 0;
    for await (const { holderCount } of new Holdfast(redis).list()) found += holderCount;
    const ms = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    const each = (us: number): string => `${(us / found).toFixed(1)} µs`;
    const used = cpuOf(await redis.info('cpu')) - serverBefore;
    const slow = (await redis.slowlog('GET', 128)) as [unknown, unknown, number, string[]][];
    const longest = Math.max(0, ...slow.map(([, , us]) => us));
    console.log(`  ${found} of ${count}: ${Math.round(found / (ms / 1000))} locks a second`);
    console.log(
      `    for each: ${each(user + system)} of the client, ` + `${each(used)} of the server`,
    );
    console.log(
      `    calls above 2 ms: ${slow.length}` +
        (slow.length === 0
          ? ''
          : `, the longest ${longest} µs (on a machine with other work: its`) +
        (slow.length === 0 ? '' : ' pauses count too)'),
    );
    const shares = await redis.info('latencystats');
    const evalsha = /^latency_percentiles_usec_evalsha:(.*)$/m.exec(shares)?.[1] ?? '';
    console.log(`    µs of a call for up to 128 locks: ${evalsha.trim()}`);
    holder.kill();
    redis.disconnect();
  }
}

/** The processor time of the server, in µs. */
function cpuOf(info: string): number {
  const seconds = /^used_cpu_(?:user|sys):([\d.]+)/gm;
  return [...info.matchAll(seconds)].reduce((sum, [, used]) => sum + 1e6 * Number(used), 0);
}

/** Takes locks and keeps them. */
async function hold(port: number, count: number): Promise<void> {
  const redis = new Redis({ host: '127.0.0.1', port });
  const holdfast = new Holdfast(redis, { ttl: TTL_MS });
  for (let from = 0; from < count; from += STEP) {
    const taken = Array.from({ length: STEP }, (_, at) =>
      holdfast.mutex(`order:${from + at}`).acquire(),
    );
    await Promise.all(taken);
  }
  process.send?.('done');
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [port = 0, count = 0] = argv.slice(2).map(Number);
  await hold(port, count);
}
