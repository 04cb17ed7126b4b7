/** Commands that last, when Sentinel replaces the master. */
import { Holdfast } from 'holdfast';
import { freePorts, type Replicated, type Server, startReplicated, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { Cli } from '../cli.js';

const PATIENT = { within: 60_000, every: 50 };
const LOOP = 'echo up $HOLDFAST_FENCE; while :; do sleep 0.02; done';

/** Every replica has what the master has written. */
async function replicated({ nodes }: Replicated, master: Server): Promise<void> {
  await master.command('SET', 'written', 'before the fault');
  for (const node of nodes) {
    await until(async () => (await node.command('EXISTS', 'written')) === 1, PATIENT);
  }
}

it('`run`, its wait, `lead` and `dashboard` go on when the master is killed', async () => {
  await using group = await startReplicated({ server: 'valkey' });
  const before = await group.master();
  const hosts = group.sentinels.map(({ host, port }) => `${host}:${port}`).join(',');
  const env = { REDIS_URL: `redis+sentinel://${hosts}/${group.name}` };
  const [port] = await freePorts(1);
  await using leader = new Cli(['lead', 'leader', '--', 'sh', '-c', LOOP], { env });
  await using holder = new Cli(['run', 'busy', '--', 'sh', '-c', LOOP], { env });
  await using view = new Cli(['dashboard', '--port', `${port}`], { env });
  await leader.shows(/up \d+/);
  await holder.shows(/up \d+/);
  await using waiter = new Cli(['run', 'busy', '--wait', '5m', '--', 'echo', 'ran'], { env });
  const url = await until(() => /the locks are at (\S+)/.exec(view.stderr)?.[1], PATIENT);
  const waits = async (): Promise<boolean> => {
    const { origin, searchParams } = new URL(url);
    const headers = { authorization: `Bearer ${searchParams.get('token')}` };
    const lock = await fetch(`${origin}/api/lock?key=busy`, { headers });
    return ((await lock.json()) as { waiterCount?: number }).waiterCount === 1;
  };
  await until(waits, PATIENT);
  await replicated(group, before);

  await before.kill();
  const after = await group.successor(before);
  const client = new Redis(after.url);
  const holdfast = new Holdfast(client);
  // the view asks the successor, where the waiter takes its place again
  await until(waits, PATIENT);
  holder.kill('SIGTERM');
  expect(await holder.exited).toEqual({ code: 143, signal: null });
  await waiter.shows(/ran/, PATIENT.within);
  expect(await waiter.exited).toEqual({ code: 0, signal: null });
  const fence = Number(/up (\d+)\n$/.exec(leader.stdout)?.[1]);
  expect((await holdfast.inspect('leader'))?.holders).toMatchObject([{ fence }]);
  leader.kill('SIGTERM');
  expect(await leader.exited).toEqual({ code: 143, signal: null });
  await until(async () => (await holdfast.inspect('leader')) === null, PATIENT);
  await holdfast.close({ grace: 0 });
  client.disconnect();
}, 180_000);
