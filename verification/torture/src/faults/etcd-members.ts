/** Faults of the members of etcd that lose no data. Nothing is excused. */
import { type EtcdMember, until } from 'holdfast-testkit';
import { between, pick, type Random } from 'holdfast-trials/support/random';
import { QUORUM_OPTIONS } from '../settings.js';
import { post } from '../etcd/requests.js';
import { type EtcdScenario, statusOf } from '../etcd/scenario.js';
import { type Fault, mainFault } from './fault.js';

export type EtcdFault = Fault<EtcdScenario>;

/** How far the clock of one member may be off, in ms. */
const OFF_MS = 6000;
const LONG = 2 * QUORUM_OPTIONS.ttl;

/** The proxies of a member that is killed refuse connections, as its own port does. */
export async function killMember({ cluster, routes }: EtcdScenario, at: number): Promise<void> {
  await cluster.members[at]?.kill();
  for (const { gates = [] } of routes) gates[at]?.refuse();
}

export async function restartMembers(
  scenario: EtcdScenario,
  all: readonly number[],
): Promise<void> {
  const { cluster, routes } = scenario;
  // two that were killed start together: one alone has no leader
  await Promise.all(all.map(async (at) => cluster.members[at]?.restart()));
  for (const at of all) for (const { gates = [] } of routes) gates[at]?.heal();
}

/** The place of a member, and with it those of others, up to `count`. */
function drawn(random: Random, { cluster }: EtcdScenario, count: number): number[] {
  const first = Math.floor(random() * cluster.members.length);
  return Array.from({ length: count }, (_, at) => (first + at) % cluster.members.length);
}

function frozen(kind: string, count: number): EtcdFault {
  return {
    kind,
    async run(context, random) {
      const places = drawn(random, context.scenario, count);
      const members = places.map((at) => context.scenario.cluster.members[at] as EtcdMember);
      context.begin(kind);
      for (const member of members) member.freeze();
      await context.sleep(between(random, 50, LONG));
      for (const member of members) member.resume();
      context.end(kind);
      return true;
    },
  };
}

function killed(kind: string, count: number): EtcdFault {
  return {
    kind,
    async run(context, random) {
      const { scenario } = context;
      const places = drawn(random, scenario, count);
      context.begin(kind);
      await Promise.all(places.map((at) => killMember(scenario, at)));
      await context.sleep(between(random, 0, 1500));
      await restartMembers(scenario, places);
      context.end(kind);
      return true;
    },
  };
}

/** The place of the leader; `undefined` if there is none at the moment. */
async function leaderOf({ cluster }: EtcdScenario): Promise<number | undefined> {
  const statuses = await Promise.allSettled(cluster.endpoints.map(statusOf));
  const at = statuses.findIndex(
    (one) => one.status === 'fulfilled' && one.value.leader === one.value.header.member_id,
  );
  return at < 0 ? undefined : at;
}

type Context = Parameters<EtcdFault['run']>[0];

/** A fault that needs the place of the leader. False if it was not possible then. */
function ofLeader(
  kind: string,
  run: (context: Context, leader: number, random: Random) => Promise<boolean>,
): EtcdFault {
  return {
    kind,
    async run(context, random) {
      const leader = await leaderOf(context.scenario);
      if (leader === undefined) return false;
      return run(context, leader, random);
    },
  };
}

/** A member loses all messages of the others, and its clients still reach it. */
function cutOff(kind: string, isLeader: boolean): EtcdFault {
  return ofLeader(kind, async (context, leader, random) => {
    const { peers } = context.scenario;
    const at = isLeader ? leader : (leader + pick(random, [1, 2])) % peers.ids.length;
    context.begin(kind);
    peers.cutOff(peers.ids[at] as string);
    await context.sleep(between(random, 50, LONG));
    peers.heal();
    context.end(kind);
    return true;
  });
}

/** A fault that is one request to the leader. */
function asked(
  kind: string,
  request: (scenario: EtcdScenario, leader: string, random: Random) => Promise<unknown>,
): EtcdFault {
  return ofLeader(kind, async (context, leader, random) => {
    const { scenario } = context;
    try {
      await request(scenario, scenario.cluster.endpoints[leader] as string, random);
    } catch {
      return false;
    }
    context.once(kind);
    return true;
  });
}

const moved = asked('leader moved', async ({ peers }, leader, random) => {
  const { header } = await statusOf(leader);
  const others = peers.ids.map((id) => `${BigInt(`0x${id}`)}`);
  const targetID = pick(
    random,
    others.filter((id) => id !== header.member_id),
  );
  await post(leader, 'maintenance/transfer-leadership', { targetID });
});

const compacted = asked('compaction', async (_, leader) => {
  type Found = { readonly header: { readonly revision: string } };
  const { header } = await post<Found>(leader, 'kv/range', { key: 'YQ==' });
  await post(leader, 'kv/compaction', { revision: header.revision, physical: true });
});

const defragmented = asked('defragmentation', (_, leader) => {
  return post(leader, 'maintenance/defragment', {});
});

/** Sets or removes the alarm of a database that is full: all changes are refused. */
async function alarm({ cluster, peers }: EtcdScenario, action: string): Promise<void> {
  const memberID = `${BigInt(`0x${peers.ids[0]}`)}`;
  const send = async (): Promise<boolean> => {
    const body = { action, memberID, alarm: 'NOSPACE' };
    const sent = cluster.endpoints.map((one) => post(one, 'maintenance/alarm', body));
    return Promise.any(sent).then(
      () => true,
      () => false,
    );
  };
  await until(send, { within: 60_000 });
}

const full = mainFault<EtcdScenario>(
  'database full',
  [100, 1500],
  (scenario) => alarm(scenario, 'ACTIVATE'),
  (scenario) => alarm(scenario, 'DEACTIVATE'),
);

/** The clock of one member is wrong, in either direction. */
const stepped: EtcdFault = {
  kind: 'wrong clock of one member',
  async run(context, random) {
    const { wrong } = context.scenario;
    const { offset } = wrong;
    wrong.offset = between(random, -OFF_MS, OFF_MS);
    context.once(this.kind, wrong.offset - offset);
    return true;
  },
};

export const etcdMemberFaults: readonly EtcdFault[] = [
  frozen('member frozen', 1),
  killed('member killed', 1),
  frozen('majority frozen', 2),
  killed('majority killed', 2),
  killed('all members killed', 3),
  cutOff('leader cut off', true),
  cutOff('follower cut off', false),
  ...[moved, compacted, defragmented, full, stepped],
];
