/** What happens to client processes, and to the network between them and the server. */
import type { Direction, Match } from 'holdfast-testkit';
import { between, type Random } from 'holdfast-trials/support/random';
import { OPTIONS } from '../settings.js';
import type { Lane } from '../stage.js';
import { actorFault, type Fault } from './fault.js';

const any = (): boolean => true;
const proxied = ({ proxy }: Lane): boolean => proxy !== undefined;
const wired = ({ wire }: Lane): boolean => wire !== undefined;
const script: Match = ([name = '']) => /^eval(sha)?$/i.test(name);

const kill = actorFault('client killed', any, async ({ cast }, actor) => {
  await cast.kill(actor);
  await actor.start(cast);
});

const freeze = actorFault('client frozen', any, async (scene, { worker }, random) => {
  worker.kill('SIGSTOP');
  await scene.sleep(between(random, 50, 2.5 * OPTIONS.ttl));
  worker.kill('SIGCONT');
});

/** Its wall clock is set, and set back after a while; its monotonic clock goes on. */
const walled = actorFault('wall clock of a client', any, async (scene, { worker }, random) => {
  const offset = between(random, -5000, 20_000);
  await worker.send({ type: 'wall', offset });
  await scene.sleep(between(random, 100, 1500));
  await worker.send({ type: 'wall', offset: 0 });
});

/** Silence between one process and the server; the resource stays within reach. */
function silence(kind: string, direction: Direction, hosts: boolean): Fault {
  return actorFault(kind, hosts ? wired : proxied, async (scene, { lane }, random) => {
    await lane.wire?.cut(direction);
    lane.proxy?.blackhole(direction);
    await scene.sleep(between(random, 100, 2.5 * OPTIONS.ttl));
    await lane.wire?.heal();
    lane.proxy?.heal();
  });
}

/** Something that a proxy does to what goes through it. */
function meddle(
  kind: string,
  start: (proxy: NonNullable<Lane['proxy']>, random: Random) => void,
): Fault {
  return actorFault(kind, proxied, async (scene, { lane }, random) => {
    const proxy = lane.proxy as NonNullable<Lane['proxy']>;
    start(proxy, random);
    await scene.sleep(between(random, 100, 1500));
    proxy.heal();
  });
}

const late = meddle('late replies', (proxy, random) => {
  const ms = between(random, 5, OPTIONS.requestTimeout * 1.5);
  proxy.delayReply((words) => script(words) && random() < 0.3, ms);
});

const lost = meddle('lost replies', (proxy, random) => {
  const times = Math.ceil(between(random, 0, 5));
  const after = random() < 0.5 ? 'cut' : 'silence';
  proxy.dropReply((words) => script(words) && random() < 0.3, { times, after });
});

const pushes = meddle('lost pushes', (proxy) => proxy.dropPush(any));

const twice = meddle('duplicates', (proxy, random) => {
  const ms = between(random, 0, 300);
  proxy.duplicate((words) => script(words) && random() < 0.5, ms);
});

const held = meddle('late requests', (proxy, random) => {
  proxy.holdRequests((words) => script(words) && random() < 0.2);
});

const cut = meddle('cut connections', (proxy, random) => {
  proxy.cut();
  if (random() < 0.5) proxy.refuse();
});

/** Those that can be had with what there is. */
export function processFaults(hosts: boolean): Fault[] {
  return [
    ...[kill, freeze, walled],
    silence('partition', 'both', hosts),
    silence('requests cut', 'requests', hosts),
    silence('replies cut', 'replies', hosts),
    ...[late, lost, pushes, twice, held, cut],
  ];
}
