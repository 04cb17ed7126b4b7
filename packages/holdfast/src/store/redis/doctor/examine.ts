/**
 * Examines one server, the masters of a cluster, or the members of a quorum. Loaded with the first
 * call of `Holdfast.doctor`.
 *
 * Each look may fail by itself: a right that is missing for it is a finding. A server that does not
 * answer is a finding too, and the others are examined.
 */
import { linksOf, type ServerLink } from '../../../clients/admin.js';
import type { ClientPort } from '../../../clients/port.js';
import type { Examination, ExaminedServer, ExamineTerms, Finding } from '../../finding.js';
import { judgeRoundTrip, judgeSlowness, measure } from './delays.js';
import { configOf, type Info, infoOf, versionOf } from './facts.js';
import { judgeGroup, type Seen, surely } from './group.js';
import { namesOf } from './names.js';
import { judgePrefixes } from './prefixes.js';
import { type Deployment, Probe, Unusable } from './probe.js';
import { judgePushes } from './pushes.js';
import { judgeRights } from './rights.js';
import { judgeSettings } from './settings.js';

export async function examine(deployment: Deployment, terms: ExamineTerms): Promise<Examination> {
  const pairs = deployment.ports.flatMap((port) => linksOf(port).map((link) => ({ port, link })));
  const all = await Promise.all(
    pairs.map(({ link, port }) => examineServer(deployment, port, link, terms)),
  );
  const seen = all.map(({ seen: one }) => one);
  const findings = [...all.flatMap((one) => one.findings), ...judgeGroup(deployment, seen, terms)];
  return { findings: [...noMasters(pairs.length), ...findings], servers: seen.map(serverOf) };
}

/** A client of a cluster that has never connected knows no master. */
function noMasters(count: number): Finding[] {
  if (count > 0) return [];
  const message = 'the client knows no master of the cluster';
  const advice = 'connect the client first, and see CLUSTER INFO';
  const found = { code: 'unreachable', severity: 'danger', server: '' } as const;
  return [{ ...found, message, evidence: 'no slot has an owner', advice }];
}

interface ServerResult {
  readonly seen: Seen;
  readonly findings: readonly Finding[];
}

async function examineServer(
  deployment: Deployment,
  port: ClientPort,
  link: ServerLink,
  terms: ExamineTerms,
): Promise<ServerResult> {
  const probe = new Probe(deployment, port, link, terms);
  const { address, host } = link;
  const seen = { address, host, info: undefined, measured: undefined } as Changing;
  try {
    await look(probe, seen);
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    probe.unusable(error.message);
  }
  return { seen, findings: probe.findings };
}

type Changing = { -readonly [K in keyof Seen]: Seen[K] };

async function look(probe: Probe, seen: Changing): Promise<void> {
  const closed = probe.port.state();
  if (closed?.closed === true) throw new Unusable(closed.text);
  seen.measured = await measure(probe);
  judgeRoundTrip(probe, seen.measured.roundTrip);
  seen.info = await infoOf(probe);
  const config = await configOf(probe);
  if (seen.info !== undefined) judgeSettings(probe, seen.info, config);
  await judgeSlowness(probe, seen.measured.time);
  if (!canLock(probe, seen.info)) return;
  const names = namesOf(probe);
  if (!(await judgeRights(probe, names))) return;
  await judgePushes(probe, names);
  if (!probe.findings.some(({ evidence }) => evidence.startsWith('SCAN:'))) {
    await judgePrefixes(probe);
  }
}

/** A server that refuses all locks was reported already. */
function canLock(probe: Probe, info: Info | undefined): boolean {
  const cluster = info?.get('cluster_enabled') === '1' && probe.port.cluster === undefined;
  return info?.get('role') !== 'slave' && !cluster;
}

function serverOf({ address, info, measured }: Seen): ExaminedServer {
  const offset = measured?.offset;
  return {
    address,
    version: versionOf(info),
    roundTrip: measured?.roundTrip,
    clockOffset: offset === undefined ? undefined : Math.round(surely(offset)),
  };
}
