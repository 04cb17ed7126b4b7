/**
 * Faults that make etcd lose data: states are deleted, an older backup is restored. Leases from
 * before and after the loss may overlap.
 */
import { cpSync, rmSync } from 'node:fs';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, pick } from 'holdfast-trials/support/random';
import { LOCKS } from '../settings.js';
import { keyOf, post, STATES } from '../etcd/requests.js';
import type { EtcdScenario } from '../etcd/scenario.js';
import { serverMicros } from '../scenario.js';
import type { FaultContext } from './fault.js';
import { type EtcdFault, killMember, restartMembers } from './etcd-members.js';

/** A fence is an early bound of the time: at most this much before it, in µs. */
const EARLY = 1_000_000;

/** Deletes the states of a range, and records the loss, also if there was no answer. */
async function lose(
  context: FaultContext<EtcdScenario>,
  kind: string,
  range: object,
  k?: string,
): Promise<boolean> {
  const { scenario } = context;
  const [endpoint = ''] = scenario.cluster.endpoints;
  const [from, t] = [serverMicros(scenario) - EARLY, monotonic()];
  await post(endpoint, 'kv/deleterange', range).catch(() => undefined);
  context.once(kind);
  context.noteDataLoss({ from, to: serverMicros(scenario) + 1000, t, k });
  return true;
}

const deleted: EtcdFault = {
  kind: 'state deleted',
  async run(context, random) {
    for (let count = 0; count < 4 && !context.over; count++) {
      const k = pick(random, LOCKS);
      await lose(context, this.kind, { key: keyOf(k) }, k);
      await context.sleep(between(random, 5, 200));
    }
    return true;
  },
};

const emptied: EtcdFault = {
  kind: 'all states deleted',
  run(context) {
    return lose(context, this.kind, STATES);
  },
};

/** All processes are stopped, as the page of the package demands, and all members restored. */
const restored: EtcdFault = {
  kind: 'all killed, restored from an older backup',
  async run(context, random) {
    const { scenario, participants } = context;
    const folders = scenario.cluster.members.map(({ data }) => data);
    const places = folders.map((_, at) => at);
    const killed = (): Promise<unknown> =>
      Promise.all(places.map((at) => killMember(scenario, at)));
    context.begin(this.kind);
    await killed();
    for (const folder of folders) cpSync(folder, `${folder}.copy`, { recursive: true });
    await restartMembers(scenario, places);
    await context.sleep(between(random, 20, 1500));
    const all = await participants.claim();
    const [from, t] = [serverMicros(scenario) - EARLY, monotonic()];
    await Promise.all(all.map((one) => participants.kill(one)));
    await killed();
    for (const folder of folders) {
      rmSync(folder, { recursive: true });
      cpSync(`${folder}.copy`, folder, { recursive: true });
      rmSync(`${folder}.copy`, { recursive: true });
    }
    context.noteDataLoss({ from, to: serverMicros(scenario), t });
    await restartMembers(scenario, places);
    await Promise.all(all.map((one) => one.start(participants)));
    for (const one of all) one.busy = false;
    context.end(this.kind);
    return true;
  },
};

export const etcdLossFaults: readonly EtcdFault[] = [deleted, emptied, restored];
