/** What the doctor says about a later fail-over, under Sentinel and on a cluster. */
import {
  type ClockShim,
  makeClockShim,
  type Server,
  startCluster,
  startReplicated,
} from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { DoctorReport, HoldfastOptions } from '../../src/index.js';
import type { ClientName } from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { openSentinel } from '../support/sentinels.js';
import type { Opened } from './clients.support.js';
import { codes, made, TERMS } from './doctor.support.js';

const CLIENTS: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];
const AHEAD = 20_000;
const OPTIONS: HoldfastOptions = { ...TERMS, replicas: 1 };

async function makeClock(): Promise<ClockShim> {
  const shim = await makeClockShim();
  if (shim === undefined) throw new Error('the clock of a server cannot be set: no C compiler?');
  return shim;
}

/** The doctor names replicas that forget with their master, and the server with this clock. */
async function named(
  open: (client: ClientName) => Promise<Opened>,
  clock: ClockShim,
  server: Server | undefined,
): Promise<void> {
  for (const client of CLIENTS) {
    const report = async (clockMargin: number): Promise<DoctorReport> =>
      (await made.on(open(client), { ...OPTIONS, clockMargin })).doctor();
    clock.step(0);
    expect(codes(await report(0))).not.toContain('clocks-differ');
    clock.step(AHEAD);
    const { findings } = await report(0);
    const forgets = { code: 'replicas-without-persistence', severity: 'danger' };
    expect(findings).toContainEqual(expect.objectContaining(forgets));
    const differ = findings.find(({ code }) => code === 'clocks-differ');
    expect(differ?.evidence).toMatch(`127.0.0.1:${server?.port} is `);
    expect(differ?.evidence).toMatch(/ is (19|20)\d{3} ms ahead of 127/);
    expect(codes(await report(2 * AHEAD))).not.toContain('clocks-differ');
    clock.step(0);
  }
}

it('under Sentinel: replicas that forget with their master, and one that is ahead', async () => {
  const clock = await makeClock();
  const envOf = (at: number): ClockShim['env'] => (at === 1 ? clock.env : {});
  await using group = await startReplicated({ server: 'redis', downAfter: 60_000, envOf });
  await named((client) => openSentinel(client, group), clock, group.nodes[1]);
  await made.close();
});

it('on a cluster: the same of a replica, and of a master', async () => {
  const [master, replica] = [await makeClock(), await makeClock()];
  const clocks = [undefined, master, undefined, replica];
  const envOf = (at: number): ClockShim['env'] => clocks[at]?.env ?? {};
  await using cluster = await startCluster({ server: 'redis', replicas: 1, envOf });
  const open = (client: ClientName): Promise<Opened> => openCluster(client, cluster.nodes);
  await named(open, master, cluster.nodes[1]);
  await named(open, replica, cluster.nodes[3]);
  await made.close();
});
