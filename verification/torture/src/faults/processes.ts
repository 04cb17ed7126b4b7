/** Faults of client processes, and of the network between them and the server. */
import type { Direction, Match, Proxy } from 'holdfast-testkit';
import { between, pick, type Random } from 'holdfast-trials/support/random';
import { OPTIONS } from '../settings.js';
import type { Route, Scenario } from '../scenario.js';
import { type Fault, participantFault } from './fault.js';

export type ProcessFault = Fault<Scenario>;

export const any = (): boolean => true;
const proxied = ({ proxies }: Route): boolean => proxies.length > 0;
const wired = ({ wire }: Route): boolean => wire !== undefined;
const script: Match = ([name = '']) => /^eval(sha)?$/i.test(name);

export const kill: ProcessFault = participantFault(
  'client killed',
  any,
  async ({ participants }, participant) => {
    await participants.kill(participant);
    await participant.start(participants);
  },
);

export const freeze: ProcessFault = participantFault(
  'client frozen',
  any,
  async (context, { worker }, random) => {
    worker.kill('SIGSTOP');
    await context.sleep(between(random, 50, 2.5 * OPTIONS.ttl));
    worker.kill('SIGCONT');
  },
);

/** The wall clock of the process is set, and later set back. Its monotonic clock is not. */
export const wallClock: ProcessFault = participantFault(
  'wall clock of a client',
  any,
  async (context, { worker }, random) => {
    const offset = between(random, -5000, 20_000);
    // one that ended by itself is reported
    const tell = (ms: number): Promise<void> =>
      worker.send({ type: 'wall', offset: ms }).catch(() => undefined);
    await tell(offset);
    await context.sleep(between(random, 100, 1500));
    await tell(0);
  },
);

/** A partition between one process and the lock server. The resource stays reachable. */
export function partition(
  kind: string,
  direction: Direction,
  fits: (route: Route) => boolean,
): ProcessFault {
  return participantFault(kind, fits, async (context, { route }, random) => {
    const { wire, proxies, gate, gates = [] } = route;
    const all = [...proxies, ...gates, ...(gate === undefined ? [] : [gate])];
    await wire?.cut(direction);
    for (const proxy of all) proxy.blackhole(direction);
    await context.sleep(between(random, 100, 2.5 * OPTIONS.ttl));
    await wire?.heal();
    for (const proxy of all) proxy.heal();
  });
}

/** A fault that a proxy makes in the traffic of one process, in a quorum that of one server. */
function proxyFault(kind: string, start: (proxy: Proxy, random: Random) => void): ProcessFault {
  return participantFault(kind, proxied, async (context, { route }, random) => {
    const proxy = pick(random, route.proxies);
    start(proxy, random);
    await context.sleep(between(random, 100, 1500));
    proxy.heal();
  });
}

const late = proxyFault('late replies', (proxy, random) => {
  const ms = between(random, 5, OPTIONS.requestTimeout * 1.5);
  proxy.delayReply((words) => script(words) && random() < 0.3, ms);
});

const lost = proxyFault('lost replies', (proxy, random) => {
  const times = Math.ceil(between(random, 0, 5));
  const after = random() < 0.5 ? 'cut' : 'silence';
  proxy.dropReply((words) => script(words) && random() < 0.3, { times, after });
});

const pushes = proxyFault('lost pushes', (proxy) => proxy.dropPush(any));

const twice = proxyFault('duplicates', (proxy, random) => {
  const ms = between(random, 0, 300);
  proxy.duplicate((words) => script(words) && random() < 0.5, ms);
});

const held = proxyFault('late requests', (proxy, random) => {
  proxy.holdRequests((words) => script(words) && random() < 0.2);
});

const cut = proxyFault('cut connections', (proxy, random) => {
  proxy.cut();
  if (random() < 0.5) proxy.refuse();
});

/**
 * The connections for wake-ups of one process lose all bytes, and stay open for good: it must open
 * new ones by itself. The fault lasts until it can have noticed.
 */
const silent = participantFault('silent wake connection', proxied, async (context, { route }) => {
  for (const proxy of route.proxies) {
    const subscribed = new Set<number>();
    for (const { link, command } of proxy.log) {
      if (/subscribe$/i.test(command[0] ?? '')) subscribed.add(link);
    }
    proxy.silence((link) => subscribed.has(link));
  }
  await context.sleep(5 * OPTIONS.claimWindow);
});

/** The faults that are possible on this machine. `hosts`: there are network namespaces. */
export function processFaults(hosts: boolean): ProcessFault[] {
  const fits = hosts ? wired : proxied;
  return [
    ...[kill, freeze, wallClock],
    partition('partition', 'both', fits),
    partition('requests cut', 'requests', fits),
    partition('replies cut', 'replies', fits),
    ...[late, lost, pushes, twice, held, cut, silent],
  ];
}

/** Whether a reply is lost, and how: a few of the next ones. */
export function fewLosses(random: Random): () => 'cut' | 'silence' | undefined {
  let left = Math.ceil(between(random, 0, 5));
  const how = random() < 0.5 ? 'cut' : 'silence';
  return () => {
    if (left === 0 || random() > 0.3) return undefined;
    left -= 1;
    return how;
  };
}
