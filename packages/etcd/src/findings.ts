/** Findings about etcd, for `Holdfast.doctor`. */
import type { Finding } from 'holdfast/register';
import { widthOf } from './clocks.js';
import type { Gateway } from './gateway.js';

/** By how much the clocks of two members may differ, in ms. */
const APART_MS = 1000;
/** A history of so many revisions is long. */
const LONG = 100_000;
/** A part of the usual quota of 2 GiB, in bytes. */
const LARGE = 1.5e9;

interface Status {
  readonly dbSize?: string;
  readonly errors?: readonly string[];
}

export async function findingsOf(gateway: Gateway): Promise<Finding[]> {
  const { endpoints } = gateway;
  await gateway.ready();
  const each = await Promise.all(endpoints.map((_, at) => ofMember(gateway, at)));
  return [...each.flat(), ...(await ofCluster(gateway)), ...ofClocks(gateway)];
}

async function ofMember(gateway: Gateway, at: number): Promise<Finding[]> {
  const server = gateway.endpoints[at] as string;
  try {
    const { dbSize = '0', errors = [] } = await gateway.ask<Status>(at, 'maintenance/status', {});
    const findings: Finding[] = errors.map((evidence) => ({
      ...{ code: 'etcd:alarm', severity: 'danger', server, evidence },
      message: 'the member has an alarm, or no leader: calls fail',
      advice: 'remove its reason, and then the alarm (etcdctl alarm disarm)',
    }));
    if (Number(dbSize) > LARGE) {
      findings.push({
        ...{ code: 'etcd:large-database', severity: 'warning', server },
        message: 'etcd refuses all changes when its quota is used up, which is 2 GiB by default',
        evidence: `its database has ${dbSize} bytes`,
        advice: 'compact and defragment it, or set a larger quota',
      });
    }
    return findings;
  } catch (error) {
    return [
      {
        ...{ code: 'etcd:no-answer', severity: 'warning', server },
        message: 'the member does not answer: fewer others may fail',
        evidence: (error as Error).message,
        advice: 'start it, or correct its URL',
      },
    ];
  }
}

async function ofCluster(gateway: Gateway): Promise<Finding[]> {
  const findings: Finding[] = [];
  const server = '';
  const given = gateway.endpoints.length;
  const list = await firstOf<{ members?: readonly unknown[] }>(gateway, 'cluster/member/list', {});
  const count = list?.members?.length ?? given;
  if (count !== given) {
    findings.push({
      ...{ code: 'etcd:other-members', severity: 'danger', server },
      message: 'processes that list other endpoints go by another clock',
      evidence: `${given} endpoints were given, and the cluster has ${count} members`,
      advice: 'give the URL of each member, in all processes',
    });
  }
  if (count === 1) {
    findings.push({
      ...{ code: 'etcd:no-spare-member', severity: 'notice', server },
      message: 'nothing works while the only member is down',
      evidence: 'the cluster has 1 member',
      advice: 'use three members',
    });
  }
  const key = Buffer.from('holdfast').toString('base64');
  const oldest = { key, revision: '1', serializable: true, keys_only: true };
  const kept = await firstOf<{ header: { revision?: string } }>(gateway, 'kv/range', oldest);
  const revision = Number(kept?.header.revision ?? 0);
  if (revision > LONG) {
    findings.push({
      ...{ code: 'etcd:history-kept', severity: 'warning', server },
      message: 'each change stays in the database, until its quota is used up',
      evidence: `all of ${revision} revisions are kept`,
      advice: 'start etcd with --auto-compaction-retention=1h, or compact it regularly',
    });
  }
  return findings;
}

/** The answer of the first endpoint that has one. */
async function firstOf<T>(gateway: Gateway, path: string, body: object): Promise<T | undefined> {
  for (const at of gateway.endpoints.keys()) {
    try {
      return await gateway.ask<T>(at, path, body);
    } catch {
      // the next one may answer
    }
  }
  return undefined;
}

function ofClocks({ clocks, endpoints, trouble = 'no answer' }: Gateway): Finding[] {
  const now = clocks.now();
  const known = [...endpoints.keys()].flatMap((at) => clocks.of(at, now) ?? []);
  const apart =
    Math.max(...known.map(({ lower }) => lower)) - Math.min(...known.map(({ upper }) => upper));
  const findings: Finding[] = [];
  if (apart > APART_MS) {
    findings.push({
      ...{ code: 'etcd:clocks-differ', severity: 'warning', server: '' },
      message: 'after the loss of a member, leases of dead processes last longer by that much',
      evidence: `the clocks of two members differ by ${Math.round(apart)} ms`,
      advice: 'synchronise the clocks of the members',
    });
  }
  const width = widthOf(clocks.median(now));
  if (width === Infinity) {
    findings.push({
      ...{ code: 'etcd:no-clock', severity: 'danger', server: '' },
      message: 'calls fail: the clocks of a majority are not known',
      evidence: trouble,
      advice: 'does a proxy remove the header Date?',
    });
  }
  if (width > APART_MS / 4 && width < Infinity) {
    findings.push({
      ...{ code: 'etcd:inexact-clock', severity: 'notice', server: '' },
      message: 'leases count as shorter by that much',
      evidence: `the clock is known to ${Math.round(width)} ms`,
      advice: 'is the way to etcd slow?',
    });
  }
  return findings;
}
