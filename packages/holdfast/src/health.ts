/** The health check of one instance, loaded with its first call. */
import type { Core } from './core.js';

/** What `Holdfast.health` has found. */
export interface Health {
  /**
   * `ok`; `degraded` if locks work, with the restrictions that `problems` names; `down` if no lock
   * can be acquired now.
   */
  readonly status: 'ok' | 'degraded' | 'down';
  /** Sentences for a person; empty if the status is `ok`. */
  readonly problems: readonly string[];
  /** The time in ms in which the store answered; `undefined` if it did not. */
  readonly roundTrip: number | undefined;
}

/** The key that is read. The check takes no lock. */
const KEY = 'holdfast ready';

export async function healthOf(core: Core): Promise<Health> {
  if (core.closing) return { status: 'down', problems: ['it is closed'], roundTrip: undefined };
  const start = core.clock.now();
  try {
    await core.requests.send({ op: 'inspect', key: KEY, limit: 1 });
  } catch (error) {
    const problem = `the store does not answer: ${(error as Error).message}`;
    return { status: 'down', problems: [problem], roundTrip: undefined };
  }
  const roundTrip = core.clock.now() - start;
  const problems = problemsOf(core, roundTrip);
  return { status: problems.length === 0 ? 'ok' : 'degraded', problems, roundTrip };
}

function problemsOf(core: Core, roundTrip: number): string[] {
  const { claimWindow } = core.settings;
  let failing = 0;
  let doubted = 0;
  let waiting = 0;
  for (const { failure, doubted: inDoubt } of core.watchdog.all()) {
    if (failure !== undefined) failing += 1;
    if (inDoubt) doubted += 1;
  }
  for (const [, count] of core.waiting()) waiting += count;
  // also for a moment after the first call began to wait, which opens the connection
  const deaf = waiting > 0 && core.wake.channel === '';
  return [
    failing > 0 && `the last renewal of ${failing} leases failed`,
    doubted > 0 && `${doubted} leases are in doubt after a suspend`,
    deaf && `${waiting} calls wait without a connection for wake-ups, so they poll the store`,
    roundTrip > claimWindow && `the store took ${Math.round(roundTrip)} ms to answer`,
  ].filter((problem) => problem !== false);
}
