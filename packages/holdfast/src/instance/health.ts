import type { Core } from '../acquire/core.js';
import type { Acquire } from '../engine/commands.js';
import { markerKey } from '../base/marker-key.js';
import { isRefusal } from '../store/port.js';

/** The result of `Holdfast.health`. */
export interface Health {
  /**
   * `degraded`: locks work, with the restrictions in `problems`; `down`: no lock can be acquired
   * now.
   */
  readonly status: 'ok' | 'degraded' | 'down';
  /** Sentences for a person; empty if the status is `ok`. */
  readonly problems: readonly string[];
  /** In ms; `undefined` if the store did not answer. */
  readonly roundTrip: number | undefined;
}

/** The lock of a check ends after this time, if its release is lost. */
const TTL_MS = 1000;
const CLOCK_OFF_MS = 1000;

export async function healthOf(core: Core): Promise<Health> {
  if (core.closing) return { status: 'down', problems: ['it is closed'], roundTrip: undefined };
  const start = core.clock.now();
  try {
    await probe(core);
  } catch (error) {
    const what = isRefusal(error) ? 'the store grants no lock' : 'the store does not answer';
    const problem = `${what}: ${(error as Error).message}`;
    return { status: 'down', problems: [problem], roundTrip: undefined };
  }
  const roundTrip = core.clock.now() - start;
  const problems = problemsOf(core, roundTrip);
  return { status: problems.length === 0 ? 'ok' : 'degraded', problems, roundTrip };
}

/**
 * A server may answer reads while it grants nothing, because its memory is full, or replicas or a
 * right are missing.
 */
async function probe(core: Core): Promise<void> {
  const key = markerKey('holdfast ready', 'health', core.id);
  const id = core.nextId();
  const { retention, replicas } = core.settings;
  // see `acknowledged.ts`
  const ttl = replicas > 0 ? Math.max(TTL_MS, core.settings.ttl) : TTL_MS;
  const { requests } = core;
  const about = { key, kind: 'mutex', id, owner: '', weight: 1, capacity: 1 } as const;
  const asked: Acquire = {
    ...{ op: 'acquire', ...about, ttl, claim: ttl },
    ...{ fair: true, handOffs: 0, channel: '', token: '', queue: false, ticket: 0, maxQueue: 1 },
    ...{ patience: 0, retention, meta: '' },
  };
  // it does not wait for its turn
  try {
    await requests.send(asked, undefined, requests.timeout);
  } finally {
    // also a grant that did not count
    requests.send({ op: 'release', key, id, retention }).catch(() => undefined);
  }
}

function problemsOf(core: Core, roundTrip: number): string[] {
  const { claimWindow } = core.settings;
  let failing = 0;
  let doubted = 0;
  for (const { renewal, doubted: inDoubt } of core.watchdog.all()) {
    if (renewal.failure !== undefined) failing += 1;
    if (inDoubt) doubted += 1;
  }
  const waiting = core.acquisitions.queued;
  // also for a moment after the first call began to wait, which opens the connection
  const deaf = waiting > 0 && core.wake.channel === '';
  const servers = (core.store.servers?.() ?? []).filter(({ status, clockOffset = 0 }) => {
    const answers = status === 'agreed' || status === 'promised';
    return !answers || Math.abs(clockOffset) > CLOCK_OFF_MS;
  });
  return [
    ...servers.map(({ server, text }) => `server ${server} ${text}`),
    failing > 0 && `the last renewal of ${failing} leases failed`,
    doubted > 0 && `${doubted} leases are in doubt after a suspend`,
    deaf && `${waiting} calls wait without a connection for wake-ups, so they poll the store`,
    roundTrip > claimWindow && `the store took ${Math.round(roundTrip)} ms to answer`,
  ].filter((problem) => problem !== false);
}
