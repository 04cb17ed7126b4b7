/**
 * Very many hold permits of one semaphore. What a command does in the server must not grow with
 * them: it is counted, as the commands that its script calls, and compared with a semaphore that
 * few hold. How long the longest one took is told too. In the end all leases end at once, and
 * whoever waits for all permits gets them.
 */
import { Holdfast, type Lease, type Semaphore } from 'holdfast';
import { type Server, startServer, until } from 'holdfast-testkit';
import { connect } from './support/clients.js';
import { Problems } from './support/problems.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

/** More than an inspection shows. */
const FEW = 200;
const AT_ONCE = 1000;
/** Nobody renews while it is counted. */
const TTL = 600_000;
/** What the server logs as slow, in µs: low enough for the worst of all commands to be there. */
const LOGGED_US = 100;

/** Commands of the server that are ours to count, and the longest of them. */
interface Work {
  readonly calls: number;
  readonly longest: number;
}

class Scene {
  readonly figures: Record<string, number> = {};
  readonly problems = new Problems();
  readonly server: Server;
  readonly holdfast: Holdfast;
  /** Counts by operation, with few holders. */
  readonly #few = new Map<string, number>();
  /** Ms that it took to make as many leases as there are. */
  filling = 0;
  #longest = 0;

  constructor(server: Server, holdfast: Holdfast) {
    this.server = server;
    this.holdfast = holdfast;
  }

  /** So many leases of one permit. */
  async fill(semaphore: Semaphore, holders: number, ttl = TTL): Promise<Lease[]> {
    const leases: Lease[] = [];
    while (leases.length < holders) {
      const count = Math.min(AT_ONCE, holders - leases.length);
      const asked = Array.from({ length: count }, () =>
        semaphore.acquire(1, { ttl, renew: false }),
      );
      leases.push(...(await Promise.all(asked)));
    }
    return leases;
  }

  /** What the server does for one operation. */
  async count(act: () => Promise<unknown>): Promise<Work> {
    await this.server.command('CONFIG', 'RESETSTAT');
    await this.server.command('SLOWLOG', 'RESET');
    await act();
    const info = String(await this.server.command('INFO', 'commandstats'));
    const own = [...info.matchAll(/^cmdstat_(?!config|slowlog|info|publish)[^:]+:calls=(\d+)/gm)];
    return {
      calls: own.reduce((sum, [, calls]) => sum + Number(calls), 0),
      longest: await this.#slowest(),
    };
  }

  async compare(name: string, holders: number, act: () => Promise<unknown>): Promise<void> {
    const { calls, longest } = await this.count(act);
    if (holders === FEW) {
      this.#few.set(name, calls);
      return;
    }
    const few = this.#few.get(name) ?? 0;
    this.figures[`${name}: calls, few holders`] = few;
    this.figures[`${name}: calls, many holders`] = calls;
    this.longest(name, longest);
    if (calls > few) this.problems.add('grows', `${name}: ${few} calls, then ${calls}`);
  }

  longest(name: string, longest: number): void {
    this.figures[`${name}: longest command, ms`] = longest / 1000;
    this.#longest = Math.max(this.#longest, longest);
    this.figures['longest command of all, ms'] = this.#longest / 1000;
  }

  async #slowest(): Promise<number> {
    const log = (await this.server.command('SLOWLOG', 'GET', '100000')) as [
      0,
      0,
      number,
      string[],
    ][];
    const scripts = log.filter(([, , , [command]]) => /^eval/i.test(String(command)));
    return Math.max(0, ...scripts.map(([, , us]) => us));
  }
}

/** Each operation once, while so many hold. */
async function operations(scene: Scene, holders: number, fault: string | undefined): Promise<void> {
  const { holdfast, server } = scene;
  const key = `${holders} holders`;
  const semaphore = holdfast.semaphore(key, { permits: holders + 1 });
  const started = performance.now();
  const leases = await scene.fill(semaphore, holders);
  scene.filling = performance.now() - started;
  const info = await holdfast.inspect(key);
  if (info?.holderCount !== holders) scene.problems.add('holders', JSON.stringify(info?.used));
  const [first, second, third] = leases as [Lease, Lease, Lease];
  const note = (name: string, act: () => Promise<unknown>): Promise<void> =>
    scene.compare(name, holders, act);
  let last: Lease | null = null;
  await note('acquire', async () => {
    last = await semaphore.tryAcquire();
  });
  await note('acquire, refused', () => semaphore.tryAcquire());
  await note('extend', () => first.extend(TTL + 60_000));
  await note('inspect', () => holdfast.inspect(key));
  await note('set permits', () => semaphore.setPermits(holders + 2));
  await note('release', () => second.release());
  await note('force', () => holdfast.forceRelease(key, { id: third.id }));
  if (fault === 'walks-all') await note('walk', () => server.command('EVAL', WALK, 1, key));
  if (last === null) scene.problems.add('refused', 'a permit was left, and was not granted');
  for (let at = 0; at < leases.length; at += AT_ONCE) {
    await Promise.all(leases.slice(at, at + AT_ONCE).map((lease) => lease.release()));
  }
  await (last as Lease | null)?.release();
  if ((await holdfast.inspect(key)) !== null) scene.problems.add('left over', key);
}

/** What an inspection would do that reads every lease to add up what they have. */
const WALK = `local names = redis.call('ZRANGE', 'holdfast:{' .. KEYS[1] .. '}:x', 0, -1)
for _, id in ipairs(names) do redis.call('HGET', 'holdfast:{' .. KEYS[1] .. '}', 'h:' .. id) end
return #names`;

/** All leases end at about the same time, and somebody waits for all permits. */
async function expireTogether(scene: Scene, holders: number): Promise<void> {
  const key = 'all at once';
  const semaphore = scene.holdfast.semaphore(key, { permits: holders });
  // all of them are there before the first one ends, unless the machine has too much to do
  const ttl = Math.max(1000, 3 * scene.filling);
  await scene.fill(semaphore, holders, ttl);
  const started = performance.now();
  const { longest } = await scene.count(async () => {
    const all = await semaphore.acquire(holders);
    scene.figures['all permits after the last expiry, ms'] = performance.now() - started - ttl;
    const [one, ...others] = (await scene.holdfast.inspect(key))?.holders ?? [];
    if (one?.id !== all.id || others.length > 0) scene.problems.add('overlap', key);
    await all.release();
  });
  scene.longest('all expire, all are taken', longest);
  await until(async () => (await scene.holdfast.inspect(key)) === null, { what: 'it is free' });
}

async function run({ server: name, client, others, fault }: Parameters): Promise<Verdict> {
  await using server = await startServer({ server: name });
  await server.command('CONFIG', 'SET', 'slowlog-log-slower-than', `${LOGGED_US}`);
  await server.command('CONFIG', 'SET', 'slowlog-max-len', '100000');
  const direct = await connect(client, server.url);
  const holdfast = new Holdfast(direct.client);
  const scene = new Scene(server, holdfast);
  try {
    for (const holders of [FEW, others]) await operations(scene, holders, fault);
    await expireTogether(scene, others);
    return verdict(scene.figures, scene.problems.list());
  } finally {
    await holdfast.close({ grace: 0 });
    direct.close();
  }
}

export const trial: Trial = {
  name: 'many-holders',
  claim: 'no command does more because very many hold permits of the same semaphore',
  full: { others: 100_000 },
  share: { others: 2000 },
  faults: ['walks-all'],
  run,
};
