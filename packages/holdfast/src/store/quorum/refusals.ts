/**
 * What cannot be a quorum, because its servers do not fail independently: one server twice, a
 * master with its replica, nodes of one cluster.
 */
import type { ServerStatus } from './acceptor.js';

/** Older servers keep scripts over a restart, which hides it. */
const VERSION_MIN = 7;

const INDEPENDENT =
  'a quorum needs independent servers, each with its own data and without replicas among them';

/** `undefined` if nothing speaks against these servers. */
export function refusalOf(statuses: readonly (ServerStatus | undefined)[]): string | undefined {
  for (const [at, status] of statuses.entries()) {
    if (status === undefined) continue;
    const own = alone(status);
    if (own !== undefined) return `server ${at + 1} ${own}`;
    const other = statuses.findIndex((one, index) => index < at && related(one, status));
    const first = `server ${at + 1} and server ${other + 1}`;
    if (other < 0) continue;
    return statuses[other]?.runId === status.runId
      ? `${first} are the same server (run_id ${status.runId}); ${INDEPENDENT}`
      : `${first} replicate the same data (master_replid ${status.replication}); ${INDEPENDENT}`;
  }
  return undefined;
}

function alone({ role, cluster, version, evicts }: ServerStatus): string | undefined {
  if (cluster) {
    return (
      'is a node of a Redis Cluster, which spreads keys over its nodes and keeps each on one; ' +
      `${INDEPENDENT}; for locks on a cluster, pass one client that is connected to one node`
    );
  }
  if (role !== 'master') return `is a replica (role:${role}); ${INDEPENDENT}`;
  if (evicts) {
    return (
      'removes keys when its memory is full, and with them its votes; ' +
      'set maxmemory-policy to noeviction'
    );
  }
  const major = Number.parseInt(version, 10);
  return major >= VERSION_MIN ? undefined : `has version ${version}; a quorum needs 7.0 or newer`;
}

function related(one: ServerStatus | undefined, { runId, replication }: ServerStatus): boolean {
  return one?.runId === runId || (replication !== '' && one?.replication === replication);
}
