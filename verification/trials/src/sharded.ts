/**
 * Two programs behind a proxy that spreads the keys over two servers and looks at the first key of
 * a call only. They use several mutexes at once, and the proxy cuts their connections now and then.
 * A call for several mutexes would take them at the wrong server.
 *
 * `seconds` is the duration.
 */
import { Holdfast } from 'holdfast';
import { paced, type Server, sleep, startServer, startShardingProxy } from 'holdfast-testkit';
import { Programs, TTL } from './disturbed/programs.js';
import { type Connected, connect } from './support/clients.js';
import { Problems } from './support/problems.js';
import { between, randomFrom } from './support/random.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';
import { sorted } from './fail-over/scenario.js';

/** Most messages do not arrive, so a waiter that got a lock may find out late. */
const CLAIM_WINDOW = 2000;
const ANSWER_MS = 500;
const BETWEEN_CUTS_MS = [300, 1500] as const;
/** Mutexes that a program takes before the proxy spreads keys, with the planted fault. */
const EARLY = ['early 1', 'early 2', 'early 3'];

async function run({ server, client, seconds, seed, fault }: Parameters): Promise<Verdict> {
  const [problems, random] = [new Problems(), randomFrom(seed)];
  const figures: Record<string, number> = {};
  const servers: Server[] = await Promise.all([0, 1].map(() => startServer({ server })));
  await using proxy = await startShardingProxy(servers);
  const open: Connected[] = [];
  const instances: Holdfast[] = [];
  let keys = 0;
  const terms = { claimWindow: paced(CLAIM_WINDOW), requestTimeout: paced(ANSWER_MS) };
  const options = { ttl: TTL, unreachableAfter: 60_000, ...terms };
  try {
    for (const _ of servers) {
      const connected = await connect(client, proxy.url);
      open.push(connected);
      instances.push(new Holdfast(connected.client, options));
    }
    if (fault === 'spreads-later') {
      // the test for one server finds one
      proxy.shards = false;
      for (const one of instances) await (await one.allOf(EARLY).acquire()).release();
      proxy.shards = true;
    }
    const name = 'behind a proxy that shards';
    const key = (): string => `key ${(keys += 1)}`;
    const around = { random, problems, figures, name, ends: true, fault, key };
    const programs = new Programs(instances, around);
    for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
      await sleep(between(random, ...BETWEEN_CUTS_MS));
      if (fault === undefined) proxy.cut();
    }
    // two holders are verdict enough, and a lock with two of them may stay stuck for its whole ttl
    if (problems.total === 0) await programs.goesOn();
    await programs.stop();
    figures['steps'] = programs.steps;
  } finally {
    await Promise.all(instances.map((one) => one.close({ grace: 0 })));
    for (const one of open) one.close();
    await Promise.all(servers.map((one) => one.stop()));
  }
  return verdict(sorted(figures), problems.list());
}

export const trial: Trial = {
  name: 'sharding-proxy',
  claim: 'behind a proxy that spreads keys over servers, no mutex has two holders',
  full: { seconds: 300 },
  share: { seconds: 4 },
  faults: ['spreads-later'],
  run,
};
