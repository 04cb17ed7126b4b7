/**
 * Holders are killed, so their locks are not released and no push reports the end of the lease. The
 * next waiter must detect the end of the lease by itself: at once, but not before.
 */
import { Holdfast } from 'holdfast';
import { paced, percentile, type Server, sleep, startServer } from 'holdfast-testkit';
import { stillness } from './support/beats.js';
import { connect } from './support/clients.js';
import { Contender } from './support/contenders.js';
import { Expiries } from './support/expiries.js';
import { Problems } from './support/problems.js';
import { between, type Random, randomFrom } from './support/random.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

const TTL_MS = 1000;
/** Concurrent holders. */
const HOLDERS_MAX = 10;
const WAITERS = 2;
const BOUND_MS = 25;
/** With fewer kills, the 99th percentile has no meaning; then the bound is the claim window. */
const KILLS_FOR_P99 = 100;
const LOOK_MS = 50;
const FILL_AT_ONCE = 20_000;
/** The ttl of the other keys; some of them expire during the trial. */
const OTHERS_MS = { from: 30_000, to: 3_600_000 };

interface Scenario {
  readonly parameters: Parameters;
  /** Also the claim window. On a busy machine it is longer. */
  readonly ttl: number;
  readonly server: Server;
  /** Processes that wait for every key, always in the same order. */
  readonly waiters: readonly Contender[];
  readonly expiries: Expiries;
  readonly random: Random;
  readonly problems: Problems;
}

/** Ms from the expiry to the take-over. */
interface Delays {
  readonly default: number[];
  readonly fair: number[];
  /** Both modes, minus the time in which the waiter's process got no CPU time. */
  readonly own: number[];
}

async function run(parameters: Parameters): Promise<Verdict> {
  const { client, fault, seed, others, primitive } = parameters;
  await using server = await startServer({ server: parameters.server });
  const direct = await connect(client, server.url);
  const observer = new Holdfast(direct.client);
  const ttl = paced(TTL_MS);
  const options = { ttl, claimWindow: ttl };
  const given = { url: server.url, client, options, fault, primitive, beats: true };
  const waiters = await Promise.all(Array.from({ length: WAITERS }, () => Contender.start(given)));
  const expiries = new Expiries(observer);
  const problems = new Problems();
  const random = randomFrom(seed);
  const scenario = { parameters, ttl, server, waiters, expiries, random, problems };
  try {
    const figures: Record<string, number> = {};
    show(scenario, figures, '', await killAll(scenario, 'alone'));
    if (others > 0) {
      await fill(server, others);
      show(scenario, figures, `, among ${others} keys`, await killAll(scenario, 'among'));
      figures['other keys remaining'] = Number(await server.command('DBSIZE'));
      figures['other keys expired'] = await expired(server);
    }
    return verdict(figures, problems.list());
  } finally {
    await Promise.all(waiters.map((waiter) => waiter.kill()));
    await observer.close();
    direct.close();
  }
}

async function killAll(scenario: Scenario, phase: string): Promise<Delays> {
  const { trials } = scenario.parameters;
  const delays: Delays = { default: [], fair: [], own: [] };
  for (let done = 0, round = 0; done < trials; round++) {
    const holders = Math.min(HOLDERS_MAX, trials - done);
    const names = Array.from({ length: holders }, (_, at) => `${phase} ${round}.${at}`);
    // all are started before any is killed: a process start would delay the measured waiters
    const started = await Promise.all(names.map(() => start(scenario)));
    await Promise.all(
      names.map((key, at) => {
        const mode = at % 2 === 0 ? 'default' : 'fair';
        return once(scenario, key, mode, started[at] as Contender, delays);
      }),
    );
    done += holders;
  }
  return delays;
}

function start({
  parameters: { client, primitive },
  ttl,
  server: { url },
}: Scenario): Promise<Contender> {
  return Contender.start({ url, client, primitive, options: { ttl }, fault: undefined });
}

/** One kill, and the take-over by the waiters. */
async function once(
  { waiters, ttl, expiries, random, problems }: Scenario,
  key: string,
  mode: 'default' | 'fair',
  holder: Contender,
  delays: Delays,
): Promise<void> {
  const lock = { fair: mode === 'fair' };
  await holder.want([{ key, lock }]);
  const { id, fence } = await holder.nextEvent('held', key);
  const [first, second] = waiters as [Contender, Contender];
  await first.want([{ key, lock, hold: 0 }]);
  while ((await expiries.inspect(key))?.waiterCount !== 1) await sleep(1);
  await second.want([{ key, lock, hold: 0 }]);
  await sleep(between(random, 0, ttl));
  await holder.kill();
  const deadline = performance.now() + 3 * ttl;
  while (first.event('held', key) === undefined && performance.now() < deadline) {
    await expiries.inspect(key);
    await sleep(LOOK_MS);
  }
  const next = first.event('held', key);
  if (next === undefined) {
    problems.add('no take-over', `${key}: not within ${2 * ttl} ms of its expiry`);
    return;
  }
  const expiry = expiries.of(id);
  const delay = next.at - expiry;
  delays[mode].push(delay);
  delays.own.push(delay - stillness(next.beats, expiry, next.at));
  if (delay < 0) problems.add('too early', `${key}: ${(-delay).toFixed(3)} ms before the expiry`);
  if (next.fence <= fence) problems.add('fence', `${key}: ${next.fence} after ${fence}`);
  if (!next.held) problems.add('not held', `${key}: the lease had ended when its grant arrived`);
  const last = await second.nextEvent('held', key).catch(() => undefined);
  if (last === undefined)
    problems.add('no take-over', `${key}: the second waiter did not get the lock`);
  else if (last.at < next.at) problems.add('order', `${key}: the second waiter came first`);
}

function show(
  { problems, ttl, parameters: { trials } }: Scenario,
  figures: Record<string, number>,
  where: string,
  delays: Delays,
): void {
  const all = [...delays.default, ...delays.fair];
  figures[`kills${where}`] = all.length;
  // `own` excludes the delay of a plain timer in the same process
  for (const [mode, list] of Object.entries({ ...delays, all })) {
    for (const p of [50, 99, 100]) {
      const name = p === 100 ? 'max' : `p${p}`;
      figures[`take-over after expiry${where}, ms, ${mode}, ${name}`] = percentile(list, p);
    }
  }
  const p99 = percentile(delays.own, 99);
  const bound = trials >= KILLS_FOR_P99 ? BOUND_MS : ttl;
  if (!(p99 <= bound)) problems.add('late', `p99${where} is ${p99} ms, more than ${bound} ms`);
}

/** Fills the server with keys that expire. */
async function fill(server: Server, count: number): Promise<void> {
  const script = `for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('SET', 'other:' .. i, i, 'PX', math.random(${OTHERS_MS.from}, ${OTHERS_MS.to}))
end`;
  for (let from = 1; from <= count; from += FILL_AT_ONCE) {
    const to = Math.min(count, from + FILL_AT_ONCE - 1);
    await server.command('EVAL', script, 0, from, to);
  }
}

async function expired(server: Server): Promise<number> {
  const info = String(await server.command('INFO', 'stats'));
  return Number(/^expired_keys:(\d+)/m.exec(info)?.[1]);
}

export const trial: Trial = {
  name: 'takeover',
  claim: 'a killed holder’s lock is the next waiter’s within 25 ms of its expiry, and not before',
  full: { trials: 200, others: 1_000_000 },
  share: { trials: 6 },
  faults: ['push-only'],
  run,
};
