/** Judges the settings and the state of one server. */
import type { Info } from './facts.js';
import type { Found, Probe } from './probe.js';

/** The oldest version with the commands of the scripts. */
const VERSION_MIN = 7;
const NEARLY_FULL = 0.9;

type Config = ReadonlyMap<string, string> | undefined;

export function judgeSettings(probe: Probe, info: Info, config: Config): void {
  const quorum = probe.deployment.quorum !== undefined;
  const found = [
    ...identity(info, probe.port.cluster !== undefined),
    ...replication(info, config, quorum, probe.terms.replicas),
    ...memory(info),
    ...writes(info),
    ...persistence(info, config, probe.deployment.quorum?.durable),
    ...forgetting(info, quorum ? 0 : probe.terms.replicas),
  ];
  for (const one of found) probe.add(one);
}

function identity(info: Info, cluster: boolean): Found[] {
  const found: Found[] = [];
  const version = info.get('redis_version') ?? '';
  if (version !== '' && Number.parseInt(version, 10) < VERSION_MIN) {
    found.push({
      code: 'old-server',
      severity: 'danger',
      message: 'the server is too old: it lacks commands that the scripts use',
      evidence: `redis_version:${version}`,
      advice: 'use Redis 7.0 or newer, or Valkey',
    });
  }
  if (info.get('cluster_enabled') === '1' && !cluster) {
    found.push({
      code: 'cluster-node',
      severity: 'danger',
      message: 'the server is one node of a cluster: keys of other nodes cannot be locked',
      evidence: 'cluster_enabled:1',
      advice: 'use a client of the cluster, see docs/cluster.md',
    });
  }
  return found;
}

function replication(info: Info, config: Config, quorum: boolean, waits: number): Found[] {
  if (info.get('role') === 'slave') {
    const main = `${info.get('master_host')}:${info.get('master_port')}`;
    return [
      {
        code: 'read-only-replica',
        severity: 'danger',
        message: 'the server is a replica, which accepts no locks',
        evidence: `role:slave, its primary is ${main}`,
        advice: 'connect the client to the primary',
      },
    ];
  }
  const replicas = Number(info.get('connected_slaves') ?? 0);
  if (replicas === 0 || (replicas <= waits && !quorum)) return [];
  const needed = config?.get('min-replicas-to-write') ?? 'not known';
  const message = quorum
    ? 'a replica that takes over has lost votes, so two holders are possible'
    : 'not all replicas acknowledge a grant: after a fail-over, two holders are possible';
  const advice = quorum
    ? 'give the members of a quorum no replicas that take over'
    : `set the option replicas to ${replicas}, let the protected resource check fences, or use ` +
      'a quorum; see docs/guarantees.md';
  const evidence = `connected_slaves:${replicas}, min-replicas-to-write ${needed}`;
  return [{ code: 'unacknowledged-replicas', severity: 'warning', message, evidence, advice }];
}

function memory(info: Info): Found[] {
  const found: Found[] = [];
  const limit = Number(info.get('maxmemory') ?? 0);
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction') {
    found.push({
      code: 'eviction',
      severity: limit > 0 ? 'danger' : 'warning',
      message:
        limit > 0
          ? 'the server removes keys when its memory is full, and with them locks'
          : 'the server would remove locks if it got a memory limit',
      evidence: `maxmemory-policy ${policy}, maxmemory ${limit}`,
      advice: 'CONFIG SET maxmemory-policy noeviction; use another server for a cache',
    });
  }
  const used = Number(info.get('used_memory') ?? 0);
  if (limit > 0 && used >= limit * NEARLY_FULL) {
    const full = used >= limit;
    found.push({
      code: 'memory-limit',
      severity: full ? 'danger' : 'warning',
      message: full
        ? 'the memory of the server is full: no lock can be acquired'
        : 'the memory of the server is nearly full; then no lock can be acquired',
      evidence: `used_memory ${used} of maxmemory ${limit} (${Math.floor((used / limit) * 100)} %)`,
      advice: 'raise maxmemory, or delete keys',
    });
  }
  return found;
}

function writes(info: Info): Found[] {
  const failed = ['rdb_last_bgsave_status', 'aof_last_write_status'].filter(
    (name) => (info.get(name) ?? 'ok') !== 'ok',
  );
  if (failed.length === 0) return [];
  return [
    {
      code: 'writes-fail',
      severity: 'danger',
      message: 'the server cannot save its data, and refuses locks because of that',
      evidence: failed.map((name) => `${name}:${info.get(name)}`).join(', '),
      advice: 'see the log of the server and its disk',
    },
  ];
}

function forgetting(info: Info, waits: number): Found[] {
  if (waits === 0 || info.get('role') === 'slave' || info.get('aof_enabled') === '1') return [];
  return [
    {
      code: 'replicas-without-persistence',
      severity: 'danger',
      message:
        'a master that crashes and starts again before a fail-over forgets acknowledged grants, ' +
        'and its replicas too: holders lose their locks, and for one ttl no call gets one',
      evidence: `replicas ${waits}, aof_enabled:${info.get('aof_enabled') ?? 'not known'}`,
      advice: 'CONFIG SET appendonly yes on the master and its replicas; the same in their files',
    },
  ];
}

/** @param durable the option of a quorum; `undefined` without a quorum */
function persistence(info: Info, config: Config, durable: boolean | undefined): Found[] {
  const aof = info.get('aof_enabled') === '1';
  const fsync = config?.get('appendfsync');
  const save = config?.get('save');
  // `could-not-look` reports it
  if (aof && fsync === undefined) return [];
  if (aof && fsync === 'always') return [];
  const seen = aof
    ? `appendonly yes, appendfsync ${fsync}`
    : `appendonly no, save ${save === undefined ? 'not known' : JSON.stringify(save)}`;
  const advice = 'CONFIG SET appendonly yes, and appendfsync always; the same in its file';
  if (durable === true) {
    const message = 'the quorum has the option "durable", but a restart loses votes of this server';
    const code = 'durable-without-persistence';
    return [{ code, severity: 'danger', message, evidence: seen, advice }];
  }
  // a restarted member does not vote for some time
  if (durable === false) return [];
  if (!aof && save === '') {
    const message = 'a restart of the server forgets all locks, while their holders go on';
    return [{ code: 'no-persistence', severity: 'danger', message, evidence: seen, advice }];
  }
  const message = 'a crash of the server forgets the last grants, while their holders go on';
  return [{ code: 'lazy-persistence', severity: 'warning', message, evidence: seen, advice }];
}
