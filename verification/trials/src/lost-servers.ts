/**
 * Two of five servers of a quorum are killed, frozen, cut off or slow, and return, again and again,
 * while two processes contend for a lock and a third one takes free locks.
 *
 * - A free lock is granted in less than two server deadlines more than with all servers.
 * - Grants of the contended lock exclude each other, and have ascending fences.
 */
import { Holdfast, type Lease, quorum } from 'holdfast';
import {
  type Proxy,
  percentile,
  type Server,
  sleep,
  startProxy,
  startServer,
  until,
} from 'holdfast-testkit';
import { type Connected, connect } from './support/clients.js';
import { Problems } from './support/problems.js';
import { type Random, randomFrom } from './support/random.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

const SERVERS = 5;
/** How long one server may be silent, in ms. */
const SILENT_MS = 250;
/** How late a slow server answers, in ms. */
const SLOW_MS = 400;
/** How long servers are away after the free locks were taken, and how long all are there, in ms. */
const AWAY_MS = 30;
const REST_MS = 60;
/** How long the clients may need to connect to servers that return, in ms. */
const RETURN_MS = 20_000;
/** The lock that shows it. */
const REST_KEY = 'all servers';
/** Free locks that are taken in each state of the servers. */
const FREE = 5;
const KINDS = ['killed', 'frozen', 'cut off', 'slow'] as const;
const OPTIONS = { ttl: 3000, claimWindow: 500, unreachableAfter: 10_000 };

interface Member {
  readonly server: Server;
  readonly proxy: Proxy;
}

/** Makes a server fail in one way. Returns what ends it. */
async function fail(kind: (typeof KINDS)[number], member: Member): Promise<() => Promise<void>> {
  const { server, proxy } = member;
  switch (kind) {
    case 'killed':
      await server.kill();
      return () => server.restart();
    case 'frozen':
      server.pause();
      return async () => server.resume();
    case 'cut off':
      proxy.blackhole();
      return async () => proxy.heal();
    case 'slow':
      proxy.delayReply(() => true, SLOW_MS);
      return async () => proxy.heal();
  }
}

/** Grants of one lock by several processes, in the order in which they were reported. */
class Grants {
  count = 0;
  readonly #problems: Problems;
  #holder: Lease | undefined;
  #fence = 0;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  begin(lease: Lease): void {
    this.count += 1;
    const { fence } = lease;
    if (this.#holder?.held === true && lease.held) this.#problems.add('two holders', `${fence}`);
    if (fence <= this.#fence) {
      this.#problems.add('fence regression', `${fence} after ${this.#fence}`);
    }
    this.#fence = Math.max(this.#fence, fence);
    this.#holder = lease;
  }

  end(lease: Lease): void {
    if (this.#holder === lease) this.#holder = undefined;
  }
}

interface Scenario {
  readonly members: readonly Member[];
  readonly holdfasts: readonly Holdfast[];
  readonly random: Random;
  readonly problems: Problems;
  /** How many servers fail at a time. */
  readonly failing: number;
}

/** Takes free locks. Returns the times in ms. */
async function takeFree({ holdfasts, random, problems }: Scenario): Promise<number[]> {
  const [, , holdfast] = holdfasts as [Holdfast, Holdfast, Holdfast];
  const took: number[] = [];
  for (let at = 0; at < FREE; at++) {
    const start = performance.now();
    const key = `free ${random()}`;
    try {
      const lease = await holdfast.mutex(key).acquire({ wait: 8 * SILENT_MS });
      took.push(performance.now() - start);
      await lease.release();
    } catch (error) {
      took.push(performance.now() - start);
      problems.add('no grant', String(error));
      break;
    }
  }
  return took;
}

/** Lets servers fail and return until there were enough grants. */
async function disturb(
  scenario: Scenario,
  isOver: (rounds: number) => boolean,
): Promise<Map<string, number[][]>> {
  const { members, random, failing } = scenario;
  const times = new Map<string, number[][]>([['all', []]]);
  for (let round = 0; !isOver(round); round++) {
    times.get('all')?.push(await takeFree(scenario));
    const kind = KINDS[round % KINDS.length] as (typeof KINDS)[number];
    const chosen = members
      .map((member) => ({ member, by: random() }))
      .sort((a, b) => a.by - b.by)
      .slice(0, failing);
    const ends = await Promise.all(chosen.map(({ member }) => fail(kind, member)));
    times.set(kind, [...(times.get(kind) ?? []), await takeFree(scenario)]);
    await sleep(AWAY_MS);
    await Promise.all(ends.map((end) => end()));
    await sleep(REST_MS);
    await until(() => allAnswer(scenario.holdfasts), { within: RETURN_MS });
  }
  return times;
}

/** True if all servers answer the process that takes free locks: its clients have connected. */
async function allAnswer([, , holdfast]: readonly Holdfast[]): Promise<boolean> {
  const lease = await holdfast?.mutex(REST_KEY).acquire();
  const { servers = [] } = (await holdfast?.inspect(REST_KEY)) ?? {};
  await lease?.release();
  return servers.length === SERVERS && servers.every(({ status }) => status === 'agreed');
}

async function contend(holdfast: Holdfast, grants: Grants, isOver: () => boolean): Promise<void> {
  const mutex = holdfast.mutex('contended', { fair: true });
  while (!isOver()) {
    try {
      const lease = await mutex.acquire({ wait: 8 * SILENT_MS });
      grants.begin(lease);
      await new Promise(setImmediate);
      grants.end(lease);
      await lease.release();
    } catch {
      // the next attempt comes at once; what a failure left behind is judged by the next grants
    }
  }
}

async function run(parameters: Parameters): Promise<Verdict> {
  const { client, fault, seed, others, trials, server: name } = parameters;
  const problems = new Problems();
  const random = randomFrom(seed);
  const members = await Promise.all(
    Array.from({ length: SERVERS }, async (): Promise<Member> => {
      // what a server accepted is still there when it returns, so it may vote at once
      const server = await startServer({
        server: name,
        args: ['--appendonly', 'yes', '--appendfsync', 'always'],
      });
      return { server, proxy: await startProxy(server) };
    }),
  );
  const connected: Connected[] = [];
  const open = async (): Promise<Holdfast> => {
    const all = await Promise.all(members.map(({ proxy }) => connect(client, proxy.url)));
    connected.push(...all);
    const clients = all.map((one) => one.client);
    return new Holdfast(quorum(clients, { serverTimeout: SILENT_MS, durable: true }), OPTIONS);
  };
  const holdfasts = [await open(), await open(), await open()];
  const failing = fault === 'three' ? 3 : 2;
  const scenario = { members, holdfasts, random, problems, failing };
  const grants = new Grants(problems);
  let over = false;
  const isOver = (round: number): boolean => round >= trials && grants.count >= others;
  let times = new Map<string, number[][]>();
  try {
    const [one, other] = holdfasts as [Holdfast, Holdfast, Holdfast];
    const working = [one, one, other, other].map((each) => contend(each, grants, () => over));
    times = await disturb(scenario, isOver);
    over = true;
    await Promise.all(working);
  } finally {
    over = true;
    for (const { server, proxy } of members) {
      server.resume();
      proxy.heal();
    }
    await Promise.all(holdfasts.map((each) => each.close({ grace: 0 })));
    for (const each of connected) each.close();
    await Promise.all(members.map(({ proxy }) => proxy.close()));
    await Promise.all(members.map(({ server }) => server.stop()));
  }
  return judge(times, grants.count, problems);
}

/**
 * The slowest of each five is compared: the first one after a failure is among them. Of several
 * fives, the quicker quarter counts, because other programs may stop this process at any time.
 */
function judge(times: Map<string, number[][]>, grants: number, problems: Problems): Verdict {
  const slowest = (all: readonly (readonly number[])[], part: number): number => {
    return percentile(
      all.map((five) => Math.max(...five)),
      part,
    );
  };
  const usual = slowest(times.get('all') ?? [], 50);
  const figures: Record<string, number | string> = { grants };
  for (const [kind, all] of times) {
    const most = slowest(all, 25);
    figures[`slowest of ${FREE}, ${kind} (ms)`] = Number(slowest(all, 50).toFixed(1));
    if (most > usual + 2 * SILENT_MS) {
      problems.add('slow', `${kind}: ${most.toFixed(0)} ms, and ${usual.toFixed(0)} with all`);
    }
  }
  figures['fence regressions'] = problems.count('fence regression');
  figures['two holders'] = problems.count('two holders');
  return verdict(figures, problems.list());
}

export const trial: Trial = {
  name: 'lost-servers',
  claim: 'two of five servers that fail delay a grant by less than two deadlines, and fences grow',
  full: { trials: 100, others: 100_000 },
  share: { trials: 4, others: 50 },
  faults: ['three'],
  run,
};
