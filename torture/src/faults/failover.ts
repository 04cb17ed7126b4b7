/**
 * The standby takes over from the main server, and gives back after a while. A client that is still
 * connected to the old one gets READONLY; proxies lead to the new one, and cut after a while what
 * they had led before.
 */
import { type Server, until } from 'holdfast-testkit';
import { between, type Random } from 'holdfast-trials/support/random';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { serverMicros } from '../stage.js';
import type { Fault, Scene } from './fault.js';

const PATIENCE = { within: 30_000, every: 10 };

async function info(server: Server): Promise<string> {
  return String(await server.command('INFO', 'replication'));
}

/** Waits until the other one follows `server` and has all of it. */
async function followed(server: Server): Promise<void> {
  await until(
    async () => {
      const text = await info(server);
      return text.includes('role:master') && /slave0:.*state=online/.test(text);
    },
    { ...PATIENCE, what: 'the standby follows' },
  );
}

/** In order: the old one stops writing, the new one has everything before it takes over. */
async function handOver(from: Server, to: Server): Promise<void> {
  await followed(from);
  await until(
    async () => {
      if ((await info(to)).includes('role:master')) return true;
      // it gives up when the other one does not keep up, as on a machine that has too much to do
      if ((await info(from)).includes('master_failover_state:no-failover')) {
        await from.command('FAILOVER', 'TO', to.host, to.port, 'TIMEOUT', 3000);
      }
      return false;
    },
    { ...PATIENCE, within: 60_000, what: 'the fail-over' },
  );
}

/** Proxies lead to `server`; those who are connected to the other one find out first. */
async function lead(scene: Scene, server: Server, random: Random): Promise<void> {
  const { lanes } = scene.stage;
  for (const { proxy } of lanes) proxy?.redirect(server);
  await scene.sleep(between(random, 0, 500));
  for (const { proxy } of lanes) proxy?.cut();
}

async function giveBack(scene: Scene, random: Random): Promise<void> {
  const { stage } = scene;
  await scene.sleep(between(random, 100, 1500));
  await handOver(stage.standby, stage.main);
  await lead(scene, stage.main, random);
}

const orderly: Fault = {
  kind: 'fail-over in order',
  async run(scene, random) {
    const { stage } = scene;
    await followed(stage.main);
    scene.begin(this.kind);
    await handOver(stage.main, stage.standby);
    await lead(scene, stage.standby, random);
    await giveBack(scene, random);
    scene.end(this.kind);
    return true;
  },
};

const lossy: Fault = {
  kind: 'fail-over that lost writes',
  async run(scene, random) {
    const { stage } = scene;
    const { main, standby } = stage;
    await followed(main);
    if (scene.clockIsBehind) return false;
    scene.begin(this.kind);
    standby.pause();
    await scene.sleep(between(random, 20, 500));
    const [from, t] = [serverMicros(stage), monotonic()];
    await main.kill();
    standby.resume();
    scene.lose({ from, to: serverMicros(stage), t });
    await standby.command('REPLICAOF', 'NO', 'ONE');
    await main.restart({ args: ['--replicaof', standby.host, `${standby.port}`] });
    await lead(scene, standby, random);
    await giveBack(scene, random);
    scene.end(this.kind);
    return true;
  },
};

export const failovers: readonly Fault[] = [orderly, lossy];
