/**
 * The standby takes over from the main server, and later the main server takes over again. A client
 * that is still connected to the former primary gets READONLY. The proxies connect to the new
 * primary, and cut the old connections after a while.
 */
import { type Server, until } from 'holdfast-testkit';
import { between, type Random } from 'holdfast-trials/support/random';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { serverMicros, type ServerScenario } from '../scenario.js';
import type { Fault, FaultContext } from './fault.js';

const PATIENCE = { within: 30_000, every: 10 };

async function info(server: Server): Promise<string> {
  return String(await server.command('INFO', 'replication'));
}

/** Waits until the other server replicates `server` and has all its data. */
async function followed(server: Server): Promise<void> {
  await until(
    async () => {
      const text = await info(server);
      return text.includes('role:master') && /slave0:.*state=online/.test(text);
    },
    { ...PATIENCE, what: 'the replica to be in step' },
  );
}

/** `FAILOVER`: the old primary stops writing, and the new one gets all data before it starts. */
async function handOver(from: Server, to: Server): Promise<void> {
  await followed(from);
  await until(
    async () => {
      if ((await info(to)).includes('role:master')) return true;
      // on a busy machine the replica can be too slow: the fail-over is then aborted and repeated
      if ((await info(from)).includes('master_failover_state:no-failover')) {
        await from.command('FAILOVER', 'TO', to.host, to.port, 'TIMEOUT', 3000);
      }
      return false;
    },
    { ...PATIENCE, within: 60_000, what: 'the fail-over to end' },
  );
}

/** Connects the proxies to `server`. Old connections stay open for up to 500 ms: READONLY. */
async function routeTo(
  context: FaultContext<ServerScenario>,
  server: Server,
  random: Random,
): Promise<void> {
  const { routes } = context.scenario;
  const proxies = routes.flatMap((route) => route.proxies);
  for (const proxy of proxies) proxy.redirect(server);
  await context.sleep(between(random, 0, 500));
  for (const proxy of proxies) proxy.cut();
}

function standbyOf({ standby }: ServerScenario): Server {
  if (standby === undefined) throw new Error('a quorum has no standby');
  return standby;
}

async function failBack(context: FaultContext<ServerScenario>, random: Random): Promise<void> {
  const { scenario } = context;
  await context.sleep(between(random, 100, 1500));
  await handOver(standbyOf(scenario), scenario.main);
  await routeTo(context, scenario.main, random);
}

const orderly: Fault = {
  kind: 'fail-over in order',
  async run(context, random) {
    const { scenario } = context;
    await followed(scenario.main);
    context.begin(this.kind);
    await handOver(scenario.main, standbyOf(scenario));
    await routeTo(context, standbyOf(scenario), random);
    await failBack(context, random);
    context.end(this.kind);
    return true;
  },
};

const lossy: Fault = {
  kind: 'fail-over that lost writes',
  async run(context, random) {
    const { scenario } = context;
    const { main } = scenario;
    const standby = standbyOf(scenario);
    await followed(main);
    if (context.clockIsBehind) return false;
    context.begin(this.kind);
    standby.pause();
    await context.sleep(between(random, 20, 500));
    const [from, t] = [serverMicros(scenario), monotonic()];
    await main.kill();
    standby.resume();
    context.noteDataLoss({ from, to: serverMicros(scenario), t });
    await standby.command('REPLICAOF', 'NO', 'ONE');
    await main.restart({ args: ['--replicaof', standby.host, `${standby.port}`] });
    await routeTo(context, standby, random);
    await failBack(context, random);
    context.end(this.kind);
    return true;
  },
};

export const failovers: readonly Fault[] = [orderly, lossy];
