/**
 * Examines one server, the masters of a cluster, or the members of a quorum. Loaded at its first
 * use.
 */
import { linksOf, mayEnd, type ServerLink } from '../../clients/admin.js';
import type { ClientPort } from '../../clients/port.js';
import type { Examination, ExaminedServer, ExamineTerms, Finding } from '../../finding.js';
import { judgeRoundTrip, judgeSlowness, measure } from './delays.js';
import { OutOfStep } from '../../port.js';
import { configOf, type Info, infoOf, versionOf } from './facts.js';
import { judgeGroup, type Seen, surely } from './group.js';
import { namesOf } from './names.js';
import { judgeOpenSlots } from './open-slots.js';
import { judgePrefixes } from './prefixes.js';
import { type Deployment, type Found, limited, Probe, Unusable } from './probe.js';
import { judgePushes } from './pushes.js';
import { clocksOfReplicas } from './replicas.js';
import { judgeRights } from './rights.js';
import { judgeSettings } from './settings.js';
import { markerOf } from './votes.js';

export async function examine(deployment: Deployment, terms: ExamineTerms): Promise<Examination> {
  const linked = deployment.ports.map(async (port) => {
    return (await linksTo(port, terms)).map((link) => ({ port, link }));
  });
  const pairs = (await Promise.all(linked)).flat();
  const all = await Promise.all(
    pairs.map(({ link, port }) => examineServer(deployment, port, link, terms)),
  );
  const seen = all.map(({ seen: one }) => one);
  const findings = [...all.flatMap((one) => one.findings), ...judgeGroup(deployment, seen, terms)];
  return { findings, servers: seen.map(serverOf) };
}

/** One that cannot be used if the client knows none. */
async function linksTo(port: ClientPort, terms: ExamineTerms): Promise<ServerLink[]> {
  let reason = 'the client knows no master of the cluster';
  try {
    const closed = port.state();
    if (closed?.closed === true) throw new Error(closed.text);
    const links = await limited(linksOf(port), port, terms);
    if (links.length > 0) return links;
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  const command = (): Promise<never> => Promise.reject(new Unusable(reason));
  return [{ address: '', host: '', command }];
}

const MAY_END: Found = {
  code: 'client-may-end',
  severity: 'warning',
  message: 'after a fail-over the client may be closed for good, and locks stop',
  evidence: 'failoverDetector: true',
  advice: 'leave the option out: Holdfast makes the client leave a former master',
};

const MAY_HANG: Found = {
  code: 'client-may-hang',
  severity: 'warning',
  message: 'after a fail-over the client may wait for the former master, and locks stop',
  evidence: 'nodeClientOptions have no socket.socketTimeout',
  advice: 'set nodeClientOptions: { socket: { socketTimeout: 5000 }, pingInterval: 1000 }',
};

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
  const nothing = { info: undefined, measured: undefined, replicas: [], marker: undefined };
  const seen: Changing = { address, host, ...nothing };
  if (mayEnd(port)) probe.add(MAY_END);
  if (link.mayHang === true) probe.add(MAY_HANG);
  try {
    const failed = await look(probe, seen).catch((error: unknown) => error);
    if (!(failed instanceof Unusable) && !(await probe.isInStep())) {
      probe.findings.length = 0;
      Object.assign(seen, nothing);
      throw new Unusable(new OutOfStep(port.name).message);
    }
    if (failed instanceof Error) throw failed;
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    probe.unusable(error.message);
  }
  return { seen, findings: probe.findings };
}

type Changing = { -readonly [K in keyof Seen]: Seen[K] };

async function look(probe: Probe, seen: Changing): Promise<void> {
  seen.measured = await measure(probe);
  judgeRoundTrip(probe, seen.measured.roundTrip);
  seen.info = await infoOf(probe);
  const config = await configOf(probe);
  if (seen.info !== undefined) {
    judgeSettings(probe, seen.info, config);
    seen.replicas = await clocksOfReplicas(probe, seen.info);
  }
  await judgeSlowness(probe, seen.measured.time);
  if (probe.port.cluster !== undefined) await judgeOpenSlots(probe);
  if (!canLock(probe, seen.info)) return;
  const names = namesOf(probe);
  // all keys have one slot, at another node
  if (names === undefined) return;
  if (!(await judgeRights(probe, names))) return;
  seen.marker = await markerOf(probe, seen.info);
  await judgePushes(probe, names);
  if (!probe.findings.some(({ evidence }) => evidence.startsWith('SCAN:'))) {
    await judgePrefixes(probe);
  }
}

/** Otherwise a server that refuses all locks was reported. */
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
