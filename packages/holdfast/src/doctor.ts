/** Examines a deployment. Loaded with the first call of `Holdfast.doctor`. */
import type { Core } from './core.js';
import type { ExaminedServer, Finding, FindingSeverity } from './store/finding.js';

/** What `Holdfast.doctor` has found. */
export interface DoctorReport {
  /** The worst first. Empty if nothing endangers the locks. */
  readonly findings: readonly Finding[];
  /** The servers that were examined. Empty for a store in memory. */
  readonly servers: readonly ExaminedServer[];
}

const ORDER: readonly FindingSeverity[] = ['danger', 'warning', 'notice'];

export async function examine(core: Core): Promise<DoctorReport> {
  const { claimWindow, clock, randomSource, replicas, requestTimeout, ttl } = core.settings;
  const terms = { claimWindow, clock, replicas, requestTimeout, ttl, id: randomSource.id() };
  const { findings, servers } = (await core.store.examine?.(terms)) ?? NOTHING;
  const rank = ({ severity }: Finding): number => ORDER.indexOf(severity);
  return { findings: [...findings].sort((a, b) => rank(a) - rank(b)), servers };
}

/** A store in memory has no server that could be wrong. */
const NOTHING = { findings: [], servers: [] };
