/**
 * Leases are held and renewed while the network to the server breaks, in one direction or in both.
 * Each holder must detect the loss before the server grants the lock to another process. After an
 * event loop is blocked for longer than the ttl, `held` must be false at once.
 */
import { Holdfast } from 'holdfast';
import {
  paced,
  percentile,
  type Proxy,
  type Server,
  sleep,
  startProxy,
  startServer,
} from 'holdfast-testkit';
import { type Stalls, stallOften } from './loss-signal/stalls.js';
import { stillness } from './support/beats.js';
import { connect } from './support/clients.js';
import { Contender } from './support/contenders.js';
import { Expiries } from './support/expiries.js';
import { Problems } from './support/problems.js';
import { between, type Random, randomFrom } from './support/random.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

const TTL_MS = 1000;
const DIRECTIONS = ['both', 'requests', 'replies'] as const;
/** Leases of one process at a time. */
const LEASES_MAX = 10;
/** The delay of replies in every second round, before the network breaks. */
const DELAY_MS = 40;
const LOOK_MS = 40;
/** Rounds without CPU time for the processes are repeated, up to this factor. */
const ROUNDS_MAX = 10;

/** One holder behind its own proxy. */
interface Side {
  readonly direction: (typeof DIRECTIONS)[number];
  readonly proxy: Proxy;
  readonly holder: Contender;
}

/** The measurements, in ms before the server-side expiry. */
interface Margins {
  readonly signal: Record<Side['direction'], number[]>;
  readonly promise: number[];
  /** Leases with a process that got no CPU time when it had to react. */
  starved: number;
}

interface Scenario {
  readonly ttl: number;
  readonly sides: readonly Side[];
  /** Waits for every lock, over a direct connection. */
  readonly other: Contender;
  readonly expiries: Expiries;
  readonly random: Random;
  readonly problems: Problems;
  readonly margins: Margins;
}

async function run(parameters: Parameters): Promise<Verdict> {
  const { client, trials, seed } = parameters;
  await using server = await startServer({ server: parameters.server });
  const direct = await connect(client, server.url);
  const observer = new Holdfast(direct.client);
  const ttl = paced(TTL_MS);
  const given = { client, options: { ttl } };
  const other = await Contender.start({ ...given, url: server.url, fault: undefined });
  const sides = await Promise.all(
    DIRECTIONS.map((direction) => side(direction, server, { ...parameters, ttl })),
  );
  const problems = new Problems();
  const signal = { both: [], requests: [], replies: [] };
  const margins: Margins = { signal, promise: [], starved: 0 };
  const expiries = new Expiries(observer);
  const random = randomFrom(seed);
  const scenario = { ttl, sides, other, expiries, random, problems, margins };
  try {
    const least = Math.ceil(trials / sides.length / LEASES_MAX);
    const each = Math.ceil(trials / sides.length / least);
    const missing = (): boolean =>
      Object.values(signal).flat().length < trials && problems.list().length === 0;
    for (let round = 0; missing() && round < least * ROUNDS_MAX; round++) {
      await once(scenario, round, each);
    }
    if (missing()) problems.add('too few', 'the machine is too busy for a result');
    const stalls = await stallOften(parameters, server, problems);
    return verdict(figures(margins, stalls), problems.list());
  } finally {
    await Promise.all([other.kill(), ...sides.map(({ holder }) => holder.kill())]);
    await Promise.all(sides.map(({ proxy }) => proxy.close()));
    await observer.close();
    direct.close();
  }
}

async function side(
  direction: Side['direction'],
  server: Server,
  { client, fault, ttl }: Parameters & Pick<Scenario, 'ttl'>,
): Promise<Side> {
  const proxy = await startProxy(server);
  const given = { url: proxy.url, client, options: { ttl }, fault, beats: true };
  const holder = await Contender.start(given);
  return { direction, proxy, holder };
}

/** One round: leases of each side are acquired, watched, cut off and lost. */
async function once(scenario: Scenario, round: number, each: number): Promise<void> {
  const { ttl, sides, other, random } = scenario;
  const wants = sides.map(({ direction }) =>
    Array.from({ length: each }, (_, at) => ({ key: `${direction} ${round}.${at}`, lock: {} })),
  );
  if (round % 2 === 0) {
    for (const { proxy } of sides) proxy.delayReply(isScript, DELAY_MS);
  }
  // at different times, so that the renewals are not simultaneous
  await Promise.all(
    sides.map(async ({ holder }, at) => {
      for (const want of wants[at] ?? []) {
        await holder.want([want]);
        await holder.nextEvent('held', want.key);
        await sleep(between(random, 0, ttl / each));
      }
    }),
  );
  const keys = wants.flat().map(({ key }) => key);
  await other.want(keys.map((key) => ({ key, lock: {}, hold: 0 })));
  const watching = watch(scenario, keys);
  await Promise.all(
    sides.map(async ({ proxy, direction }) => {
      await sleep(between(random, 0.2 * ttl, 1.5 * ttl));
      proxy.blackhole(direction);
    }),
  );
  await watching;
  for (const [at, { direction, holder }] of sides.entries()) {
    for (const { key } of wants[at] ?? []) await judge(scenario, direction, holder, key);
  }
  for (const { proxy } of sides) proxy.heal();
}

function isScript(words: string[]): boolean {
  return /^eval/i.test(words[0] ?? '');
}

/** Inspects the leases until the other process has acquired all locks. */
async function watch({ ttl, expiries, other }: Scenario, keys: readonly string[]): Promise<void> {
  const deadline = performance.now() + 10 * ttl;
  const open = new Set(keys);
  while (open.size > 0 && performance.now() < deadline) {
    for (const key of open) if (other.event('held', key) !== undefined) open.delete(key);
    await Promise.all([...open].map((key) => expiries.inspect(key)));
    await sleep(LOOK_MS);
  }
}

async function judge(
  { ttl, expiries, other, problems, margins }: Scenario,
  direction: Side['direction'],
  holder: Contender,
  key: string,
): Promise<void> {
  const aborted = await holder.nextEvent('aborted', key, 3 * ttl).catch(() => undefined);
  if (aborted === undefined) {
    problems.add('no abort', `${key}: its signal did not abort`);
    return;
  }
  const { id, at, promised, beats, why } = aborted;
  const expiry = expiries.of(id);
  const late = (ms: number): string =>
    `${key}: ${ms.toFixed(3)} ms after the server-side expiry; ${why}`;
  // the process lost it before the first look: it got no CPU time from its grant on
  const unseen = expiry === 0;
  if (!unseen) margins.promise.push(expiry - promised);
  if (!unseen && promised >= expiry) problems.add('late promise', late(promised - expiry));
  // without its longest pause the process had aborted in time; its clock is checked above
  const starved = unseen || (at >= expiry && at - stillness(beats, promised, at) < expiry);
  if (starved) margins.starved += 1;
  else margins.signal[direction].push(expiry - at);
  if (at >= expiry && !starved) problems.add('late abort', late(at - expiry));
  if (aborted.held) problems.add('held', `${key}: held was true when the signal aborted`);
  if (aborted.code !== 'HOLDFAST_LOST') problems.add('reason', `${key}: ${aborted.code}`);
  const next = other.event('held', key);
  if (next === undefined)
    problems.add('no successor', `${key}: the other process did not acquire it`);
  else if (next.at <= (starved ? promised : at)) {
    const ms = (at - next.at).toFixed(3);
    problems.add('two holders', `${key}: another process held it ${ms} ms before`);
  }
  await holder.release(key);
  const { outcome } = await holder.nextEvent('over', key);
  if (outcome !== 'lost') problems.add('outcome', `${key}: released as ${outcome}`);
}

function figures({ signal, promise, starved }: Margins, stalls: Stalls): Verdict['figures'] {
  const all = Object.values(signal).flat();
  const rows: Record<string, number> = { 'leases cut off': all.length };
  const show = (what: string, list: readonly number[]): void => {
    for (const p of [0, 50, 100]) {
      const name = p === 0 ? 'min' : p === 100 ? 'max' : `p${p}`;
      rows[`${what}, ${name}`] = percentile(list, p);
    }
  };
  show('signal before expiry, ms', all);
  for (const direction of DIRECTIONS) {
    rows[`signal before expiry, ms, ${direction} lost, min`] = Math.min(...signal[direction]);
  }
  show('end of held before expiry, ms', promise);
  rows['not counted: the process got no CPU time'] = starved;
  rows['leases held over a stall'] = stalls.leases;
  rows['of them acquired by another process'] = stalls.taken;
  rows['ttl of stalls, ms'] = stalls.ttl;
  return rows;
}

export const trial: Trial = {
  name: 'loss-signal',
  claim:
    'a holder without a connection detects the loss before the server grants the lock to another',
  full: { trials: 200 },
  share: { trials: 12 },
  faults: ['counts-from-reply', 'cached-clock'],
  run,
};
