/**
 * Very many leases hold permits of one semaphore. The work of a command on the server must not grow
 * with their number. The trial counts the commands that each script calls, and compares the count
 * with a semaphore with few holders. It also reports the longest command. At the end all leases
 * expire at the same time, and a waiter for all permits must get them.
 */
import { Holdfast, type Lease, type Semaphore } from 'holdfast';
import { type Server, startServer, until } from 'holdfast-testkit';
import { CountingClock } from './leaks/clock.js';
import { connect } from './support/clients.js';
import { Problems } from './support/problems.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

/** Above the number of holders in the result of `inspect`. */
const FEW = 200;
const AT_ONCE = 1000;
/** No renewal during the counting. */
const TTL = 600_000;
/** The threshold of the server's slow log, in µs: low enough for the slowest command. */
const LOGGED_US = 100;

/**
 * A clock on which replies always come at once. A reply that took long may mean that its request
 * was sent twice, so the lease would be released again and again after its end. These requests
 * would be counted too.
 */
class StoppedClock extends CountingClock {
  override now(): number {
    return 0;
  }

  override wall(): number {
    return 0;
  }
}

/** The number of counted server commands, and the time of the longest one. */
interface Work {
  readonly calls: number;
  readonly longest: number;
  /** The commands with their counts. */
  readonly seen: string;
}

class Scenario {
  readonly figures: Record<string, number> = {};
  readonly problems = new Problems();
  readonly server: Server;
  readonly holdfast: Holdfast;
  /** Counts by operation, with few holders. */
  readonly #few = new Map<string, number>();
  /** The time in ms to create all leases. */
  filling = 0;
  #longest = 0;

  constructor(server: Server, holdfast: Holdfast) {
    this.server = server;
    this.holdfast = holdfast;
  }

  /** Acquires `holders` leases of one permit each. */
  async fill(semaphore: Semaphore, holders: number, ttl = TTL): Promise<Lease[]> {
    const leases: Lease[] = [];
    while (leases.length < holders) {
      const count = Math.min(AT_ONCE, holders - leases.length);
      const requests = Array.from({ length: count }, () =>
        semaphore.acquire(1, { ttl, renew: false }),
      );
      leases.push(...(await Promise.all(requests)));
    }
    return leases;
  }

  /** The work of the server for one operation. */
  async count(act: () => Promise<unknown>): Promise<Work> {
    await this.server.command('CONFIG', 'RESETSTAT');
    await this.server.command('SLOWLOG', 'RESET');
    await act();
    const info = String(await this.server.command('INFO', 'commandstats'));
    const own = [...info.matchAll(/^cmdstat_(?!config|slowlog|info|publish)[^:]+:calls=(\d+)/gm)];
    return {
      calls: own.reduce((sum, [, calls]) => sum + Number(calls), 0),
      longest: await this.#slowest(),
      seen: own.map(([text]) => text.slice('cmdstat_'.length)).join(' '),
    };
  }

  async compare(name: string, holders: number, act: () => Promise<unknown>): Promise<void> {
    const { calls, longest, seen } = await this.count(act);
    if (holders === FEW) {
      this.#few.set(name, calls);
      return;
    }
    const few = this.#few.get(name) ?? 0;
    this.figures[`${name}: calls, few holders`] = few;
    this.figures[`${name}: calls, many holders`] = calls;
    this.longest(name, longest);
    if (calls > few) this.problems.add('grows', `${name}: ${few} calls, then ${calls}: ${seen}`);
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

/** Runs each operation once, with `holders` leases. */
async function operations(
  scenario: Scenario,
  holdfast: Holdfast,
  holders: number,
  fault: string | undefined,
): Promise<void> {
  const { server } = scenario;
  const key = `${holders} holders`;
  const semaphore = holdfast.semaphore(key, { permits: holders + 1 });
  const started = performance.now();
  const leases = await scenario.fill(semaphore, holders);
  scenario.filling = performance.now() - started;
  const info = await holdfast.inspect(key);
  if (info?.holderCount !== holders) scenario.problems.add('holders', JSON.stringify(info?.used));
  const [first, second, third] = leases as [Lease, Lease, Lease];
  const measure = (name: string, act: () => Promise<unknown>): Promise<void> =>
    scenario.compare(name, holders, act);
  let last: Lease | null = null;
  await measure('acquire', async () => {
    last = await semaphore.tryAcquire();
  });
  await measure('acquire, refused', () => semaphore.tryAcquire());
  await measure('extend', () => first.extend(TTL + 60_000));
  await measure('inspect', () => holdfast.inspect(key));
  await measure('set permits', () => semaphore.setPermits(holders + 2));
  await measure('release', () => second.release());
  // the time for which it asks whether the holder knows must not end while the calls are counted
  await measure('force', () => holdfast.forceRelease(key, { id: third.id, wait: 10_000 }));
  if (fault === 'walks-all') await measure('walk', () => server.command('EVAL', WALK, 1, key));
  if (last === null) scenario.problems.add('refused', 'a permit was free and was not granted');
  for (let at = 0; at < leases.length; at += AT_ONCE) {
    await Promise.all(leases.slice(at, at + AT_ONCE).map((lease) => lease.release()));
  }
  await (last as Lease | null)?.release();
  if ((await holdfast.inspect(key)) !== null) scenario.problems.add('left over', key);
}

/** The planted fault: an inspection that reads every lease. */
const WALK = `local names = redis.call('ZRANGE', 'holdfast:{' .. KEYS[1] .. '}:x', 0, -1)
for _, id in ipairs(names) do redis.call('HGET', 'holdfast:{' .. KEYS[1] .. '}', 'h:' .. id) end
return #names`;

/** All leases end at about the same time, while a waiter waits for all permits. */
async function expireTogether(scenario: Scenario, holders: number): Promise<void> {
  const key = 'all at once';
  const semaphore = scenario.holdfast.semaphore(key, { permits: holders });
  // long enough that all leases exist before the first one ends, unless the machine is busy
  const ttl = Math.max(1000, 3 * scenario.filling);
  await scenario.fill(semaphore, holders, ttl);
  const started = performance.now();
  const { longest } = await scenario.count(async () => {
    const all = await semaphore.acquire(holders);
    scenario.figures['all permits after the last expiry, ms'] = performance.now() - started - ttl;
    const [one, ...others] = (await scenario.holdfast.inspect(key))?.holders ?? [];
    if (one?.id !== all.id || others.length > 0) scenario.problems.add('overlap', key);
    await all.release();
  });
  scenario.longest('all leases expire, all permits are acquired', longest);
  await until(async () => (await scenario.holdfast.inspect(key)) === null, {
    what: `${key} is free`,
  });
}

async function run({ server: name, client, others, fault }: Parameters): Promise<Verdict> {
  await using server = await startServer({ server: name });
  await server.command('CONFIG', 'SET', 'slowlog-log-slower-than', `${LOGGED_US}`);
  await server.command('CONFIG', 'SET', 'slowlog-max-len', '100000');
  const direct = await connect(client, server.url);
  const counted = new Holdfast(direct.client, {
    clock: new StoppedClock(),
    requestTimeout: 60_000,
  });
  const holdfast = new Holdfast(direct.client);
  const scenario = new Scenario(server, holdfast);
  try {
    for (const holders of [FEW, others]) await operations(scenario, counted, holders, fault);
    await expireTogether(scenario, others);
    return verdict(scenario.figures, scenario.problems.list());
  } finally {
    await counted.close({ grace: 0 });
    await holdfast.close({ grace: 0 });
    direct.close();
  }
}

export const trial: Trial = {
  name: 'many-holders',
  claim: 'the work of a command does not grow with the number of holders of a semaphore',
  full: { others: 100_000 },
  share: { others: 2000 },
  faults: ['walks-all'],
  run,
};
