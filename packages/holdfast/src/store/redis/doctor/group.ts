/** Judges servers together: their clocks, and a quorum. */
import type { ExamineTerms, Finding, FindingCode, FindingSeverity } from '../../finding.js';
import type { Measured, Offset } from './delays.js';
import type { Info } from './facts.js';
import type { Deployment } from './probe.js';
import type { ReplicaClock } from './replicas.js';
import { type Marker, notVoting } from './votes.js';

/** A larger difference of clocks than this part of the ttl is reported. */
const CLOCK_PART = 20;
const MACHINE_MS = 1000;

export interface Seen {
  readonly address: string;
  readonly host: string;
  readonly info: Info | undefined;
  readonly measured: Measured | undefined;
  readonly replicas: readonly ReplicaClock[];
  /** Of a member of a quorum. */
  readonly marker: Marker | 'none' | undefined;
}

/** The bound that is nearer to zero. */
export function surely({ from, to }: Offset): number {
  if (from > 0) return from;
  return to < 0 ? to : 0;
}

export function judgeGroup(
  deployment: Deployment,
  seen: readonly Seen[],
  terms: ExamineTerms,
): Finding[] {
  const found = [...clocks(seen, terms), ...machineClock(seen)];
  return deployment.quorum === undefined ? found : [...found, ...independence(seen)];
}

function finding(
  code: FindingCode,
  severity: FindingSeverity,
  texts: Pick<Finding, 'message' | 'evidence' | 'advice'>,
): Finding {
  return { code, severity, server: '', ...texts };
}

function clocks(seen: readonly Seen[], { ttl, clockMargin }: ExamineTerms): Finding[] {
  const masters = seen.flatMap(({ address, measured }) =>
    measured?.offset === undefined ? [] : [{ address, offset: measured.offset }],
  );
  const known = [...masters, ...seen.flatMap(({ replicas }) => replicas)];
  const [first, ...rest] = [...known].sort((a, b) => a.offset.to - b.offset.to);
  const last = rest.sort((a, b) => b.offset.from - a.offset.from)[0];
  if (first === undefined || last === undefined) return [];
  const gap = last.offset.from - first.offset.to;
  if (gap <= Math.max(clockMargin, ttl / CLOCK_PART)) return [];
  return [
    finding('clocks-differ', gap > ttl ? 'danger' : 'warning', {
      message:
        'the clocks of the servers differ: after a fail-over, or when a slot moves, leases end ' +
        'early, and a lock may have two holders for that time',
      evidence: `${last.address} is ${Math.round(gap)} ms ahead of ${first.address}`,
      advice: 'synchronize the clocks of the servers (NTP), or raise clockMargin',
    }),
  ];
}

function machineClock(seen: readonly Seen[]): Finding[] {
  return seen.flatMap(({ address, measured }) => {
    const ahead = measured?.offset === undefined ? 0 : surely(measured.offset);
    if (Math.abs(ahead) <= MACHINE_MS) return [];
    const texts = {
      message: 'the clocks of the server and of this machine differ; locks do not depend on it',
      evidence: `the server is ${Math.round(ahead)} ms ahead of this machine`,
      advice: 'synchronize both (NTP): leases end by the clock of the server, so it must not jump',
    };
    return [{ ...finding('clock-differs-from-machine', 'notice', texts), server: address }];
  });
}

function independence(seen: readonly Seen[]): Finding[] {
  const found: Finding[] = [];
  for (const [at, one] of seen.entries()) {
    for (const other of seen.slice(0, at)) {
      const same = (field: string): string | undefined => {
        const value = one.info?.get(field) ?? '';
        return value !== '' && value === other.info?.get(field) ? value : undefined;
      };
      const runId = same('run_id');
      const replication = same('master_replid');
      if (runId === undefined && replication === undefined) continue;
      const what = runId === undefined ? `master_replid ${replication}` : `run_id ${runId}`;
      found.push(
        finding('not-independent', 'danger', {
          message:
            'two members of the quorum are one server or share their data, so they fail together ' +
            'and fewer servers, perhaps an even number, remain',
          evidence: `${other.address} and ${one.address} have the ${what}`,
          advice: 'give each member a server of its own, without replication between them',
        }),
      );
    }
  }
  const silent = notVoting(seen);
  return [...found, ...located(seen), ...silent, ...spare(seen, silent)];
}

function located(seen: readonly Seen[]): Finding[] {
  const hosts = new Map<string, string[]>();
  for (const { address, host } of seen) hosts.set(host, [...(hosts.get(host) ?? []), address]);
  return [...hosts].flatMap(([host, members]) =>
    members.length < 2
      ? []
      : [
          finding('co-located-servers', 'warning', {
            message: 'several members of the quorum are on one host, and fail together with it',
            evidence: `${members.join(', ')} are on ${host}`,
            advice: 'put each member on a machine of its own',
          }),
        ],
  );
}

function spare(seen: readonly Seen[], silent: readonly Finding[]): Finding[] {
  const left = seen.filter(({ measured, address }) => {
    return measured !== undefined && !silent.some(({ server }) => server === address);
  }).length;
  const majority = Math.floor(seen.length / 2) + 1;
  if (left === seen.length || left > majority) return [];
  const works = left === majority;
  return [
    finding('no-spare-server', works ? 'warning' : 'danger', {
      message: works
        ? 'the next failure of a member stops all locks'
        : 'the quorum has no majority, so no lock can be acquired',
      evidence: `${left} of ${seen.length} members answer and vote, ${majority} are needed`,
      advice: 'start the members that are silent',
    }),
  ];
}
