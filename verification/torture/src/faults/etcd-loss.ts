/**
 * The fault that makes etcd lose data: an older backup is restored. Leases from before and after
 * the loss may overlap.
 */
import { cpSync, rmSync } from 'node:fs';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between } from 'holdfast-trials/support/random';
import { serverMicros } from '../scenario.js';
import { type EtcdFault, killMember, restartMembers } from './etcd-members.js';

/** A fence is an early bound of the time: at most this much before it, in µs. */
const EARLY = 1_000_000;

/** All processes are stopped, as the page of the package demands, and all members restored. */
export const restoredFromBackup: EtcdFault = {
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
