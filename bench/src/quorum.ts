/**
 * Scenario q: a quorum of five servers beside one server, in turns of one run.
 *
 *   npm run build && node bench/dist/quorum.js [--seconds 3] [--rounds 3]
 *   node bench/dist/quorum.js --freezes 5      only frozen servers, each pair 5 times
 *
 * All servers and the client share the cores of one machine, so the figures show the costs of the
 * fan-out, and no network. `dead`: two of the five servers are killed. The lines below the one of
 * the free lock show what a pair costs, which depends less on other programs: rounds, script calls
 * of all servers, and CPU time of the servers and of the client.
 */
import { parseArgs } from 'node:util';
import { percentile, type Server, sleep, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { Holdfast, quorum } from 'holdfast';
import { type Costs, measure, Rounds } from './quorum-costs.js';
import { type HandOff, handOffs, POLITE } from './quorum-hand-offs.js';

const clients: Redis[] = [];
const rounds = new Rounds();

function connect({ host, port }: Server): Redis {
  const client = new Redis({ host, port, lazyConnect: true });
  client.on('error', () => undefined);
  clients.push(client);
  rounds.watch(client);
  return client;
}

/** Acquisitions and releases of a free lock, in one task: the rate, and the costs of a pair. */
async function pairs(
  holdfast: Holdfast,
  servers: readonly Server[],
  ms: number,
): Promise<{ readonly rate: number; readonly costs: Costs }> {
  const mutex = holdfast.mutex(`pairs ${performance.now()}`);
  const stop = await measure(servers, rounds);
  const end = performance.now() + ms;
  let count = 0;
  for (; performance.now() < end; count++) await (await mutex.acquire()).release();
  const costs = await stop();
  const each = Object.entries(costs).map(([name, value]) => [name, value / count]);
  return { rate: (count / ms) * 1000, costs: Object.fromEntries(each) as Costs };
}

/** Compares pairs on five servers with pairs on one, in turns. */
async function comparePairs(
  count: number,
  one: () => ReturnType<typeof pairs>,
  several: () => ReturnType<typeof pairs>,
): Promise<void> {
  const found: Awaited<ReturnType<typeof pairs>>[][] = [];
  for (let round = 0; round < count; round++) found.push([await one(), await several()]);
  const ratio = median(found.map(([a, b]) => (b?.rate ?? 0) / (a?.rate ?? 1)));
  console.log(`a free lock: ${ratio.toFixed(2)} of one server`);
  for (const [at, name] of ['one server', 'five servers'].entries()) {
    const of = (field: keyof Costs): string =>
      median(found.map((both) => both[at]?.costs[field] ?? 0)).toFixed(at === 0 ? 1 : 2);
    console.log(
      `  a pair on ${name}: ${of('rounds')} rounds, ${of('scripts')} scripts, CPU time in us: ` +
        `${of('client')} client, ${of('servers')} servers (${of('scriptTime')} in scripts)`,
    );
  }
}

/** A server that was silent is asked again within this time. */
const AGAIN_MS = 1500;

const median = (values: number[]): number => percentile(values, 50);

/** Prints the medians of several rounds, each with both contenders in turn. */
async function compare(
  name: string,
  rounds: number,
  one: () => Promise<HandOff>,
  several: () => Promise<HandOff>,
): Promise<void> {
  const found: [HandOff, HandOff][] = [];
  for (let round = 0; round < rounds; round++) found.push([await one(), await several()]);
  const of = (field: keyof HandOff): string => {
    const [ours, theirs] = [1, 0].map((at) => median(found.map((pair) => pair[at as 0][field])));
    return `${field} ${(ours as number).toFixed(2)} (${(theirs as number).toFixed(2)})`;
  };
  const each = median(found.map(([, b]) => b.rounds)).toFixed(2);
  const ratio = median(found.map(([a, b]) => b.rate / a.rate));
  const rest = (['p50', 'p99', 'gap'] as const).map(of).join(', ');
  const fewest = median(found.map(([, b]) => b.fewest)).toFixed(2);
  console.log(
    `${name}: ${ratio.toFixed(2)} of one server; ms: ${rest}; ${each} rounds an acquisition; ` +
      `fewest to most by task ${fewest}`,
  );
}

/**
 * Freezes two servers in mid-run, each pair some times, and prints the longest gaps. Between
 * them are runs of the same load with all servers, which show the longest gaps of this machine.
 */
async function freezes(
  two: readonly Holdfast[],
  servers: readonly Server[],
  { ms, times }: { readonly ms: number; readonly times: number },
): Promise<void> {
  const load = { ...POLITE, ms, rounds };
  const [gaps, usual]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < times; turn++) {
    for (const [at, first] of servers.entries()) {
      for (const second of servers.slice(at + 1)) {
        const running = handOffs(two, load);
        await sleep(ms / 2);
        for (const server of [first, second]) server.pause();
        gaps.push((await running).gap);
        for (const server of [first, second]) server.resume();
        // servers that were silent are asked again
        await handOffs(two, { ...load, ms: AGAIN_MS });
        usual.push((await handOffs(two, load)).gap);
      }
    }
  }
  const text = (all: readonly number[]): string => {
    const [least, middle, most] = [0, 50, 100].map((part) => percentile(all, part).toFixed(0));
    return `${middle} ms (${least} to ${most}; ${all.filter((gap) => gap > 100).length} above 100)`;
  };
  console.log(
    `two frozen in mid-run, ${gaps.length} times: the longest gap is ${text(gaps)}; ` +
      `with all servers ${text(usual)}`,
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '3' },
      freezes: { type: 'string' },
    },
  });
  const times = Number(values.freezes ?? 1);
  const [ms, turns] = [Number(values.seconds) * 1000, Number(values.rounds)];
  const servers = await Promise.all(
    Array.from({ length: 5 }, () => startServer({ server: 'redis' })),
  );
  const alone = await startServer({ server: 'redis' });
  const one = [0, 1, 2, 3].map(() => new Holdfast(connect(alone)));
  const several = [0, 1, 2, 3].map(
    () => new Holdfast(quorum(servers.map(connect), { durable: true })),
  );
  for (const holdfast of [...one, ...several]) await holdfast.warmUp();
  const two = several.slice(0, 2);
  const close = async (): Promise<void> => {
    await Promise.all([...one, ...several].map((holdfast) => holdfast.close({ grace: 0 })));
    for (const client of clients) client.disconnect();
    await Promise.all([alone, ...servers].map((server) => server.stop()));
  };
  if (values.freezes !== undefined) {
    await freezes(two, servers, { ms, times });
    return close();
  }
  await comparePairs(
    turns,
    () => pairs(one[0] as Holdfast, [alone], ms),
    () => pairs(several[0] as Holdfast, servers, ms),
  );
  const both = async (name: string): Promise<void> => {
    for (const count of [1, 2]) {
      const run = (all: Holdfast[]) => (): Promise<HandOff> =>
        handOffs(all.slice(0, count), { ...POLITE, ms, rounds });
      await compare(`${name}, ${count} instances`, turns, run(one), run(several));
    }
  };
  await both('5 of 5');
  const busy = (all: Holdfast[]) => (): Promise<HandOff> =>
    handOffs(all, { tasks: 16, work: 0, ms, rounds });
  await compare('4 x 4 without work', turns, busy(one), busy(several));
  await freezes(two, servers, { ms, times });
  const running = handOffs(two, { ...POLITE, ms, rounds });
  await sleep(ms / 2);
  await Promise.all(servers.slice(3).map((server) => server.kill()));
  console.log(`two killed in mid-run: the longest gap is ${(await running).gap.toFixed(0)} ms`);
  await both('2 dead');
  await close();
}

await main();
