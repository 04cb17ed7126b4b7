import type { Core } from '../acquire/core.js';
import type { ExaminedServer, Finding, FindingSeverity } from '../store/finding.js';

/** The result of `Holdfast.doctor`. */
export interface DoctorReport {
  /** The worst first. Empty if nothing endangers the locks. */
  readonly findings: readonly Finding[];
  /** Empty for a store in memory. */
  readonly servers: readonly ExaminedServer[];
}

const ORDER: readonly FindingSeverity[] = ['danger', 'warning', 'notice'];

export async function examine(core: Core): Promise<DoctorReport> {
  const { claimWindow, clock, clockMargin, replicas, requestTimeout, ttl } = core.settings;
  const id = core.settings.randomSource.id();
  const terms = { claimWindow, clock, clockMargin, replicas, requestTimeout, ttl, id };
  const examined = (await core.store.examine?.(terms)) ?? NOTHING;
  const { servers } = examined;
  const findings = [...examined.findings, ...(await connectionOf(core))];
  const rank = ({ severity }: Finding): number => ORDER.indexOf(severity);
  return { findings: [...findings].sort((a, b) => rank(a) - rank(b)), servers };
}

async function connectionOf(core: Core): Promise<Finding[]> {
  if ((await core.wake.examine()) !== false) return [];
  return [
    {
      code: 'silent-connection',
      severity: 'warning',
      server: '',
      message: 'the connection for wake-ups had died silently: waiters had to poll',
      evidence: 'it was open, and a message that this process sent to itself did not arrive',
      advice: 'it is replaced now; look for a device that forgets connections, see docs/clients.md',
    },
  ];
}

const NOTHING = { findings: [], servers: [] };
