/** Faults of the processes on a file of SQLite. Some stop while they hold the lock of the file. */
import { readFileSync } from 'node:fs';
import { until } from 'holdfast-testkit';
import { between } from 'holdfast-trials/support/random';
import type { Participant } from '../participants.js';
import { OPTIONS } from '../settings.js';
import { participantFault } from './fault.js';
import { any, freeze, kill, type ProcessFault, wallClock } from './processes.js';

/** How long a process may take to its next change, in ms. */
const ARMED_MS = 2000;

/** Stops a process inside its next transaction. False if it makes none, or is stopped elsewhere. */
async function stopInside({ worker }: Participant): Promise<boolean> {
  const isStopped = (): boolean => {
    const text = readFileSync(`/proc/${worker.pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).startsWith('T');
  };
  await worker.send({ type: 'stop inside' });
  return until(isStopped, { within: ARMED_MS }).catch(() => false);
}

async function resume({ worker }: Participant): Promise<void> {
  await worker.send({ type: 'stop nowhere' });
  let heard = false;
  const hear = (): boolean => (heard = true);
  worker.next('stops nowhere', { within: 30_000 }).then(hear, hear);
  // it may stop between the message and its answer
  await until(
    () => {
      worker.kill('SIGCONT');
      return heard;
    },
    { within: 30_000, every: 20 },
  );
}

const freezeInside = participantFault(
  'client frozen inside a transaction',
  any,
  async (context, participant, random) => {
    if (await stopInside(participant)) await context.sleep(between(random, 50, 2 * OPTIONS.ttl));
    await resume(participant);
  },
);

const killInside = participantFault(
  'client killed inside a transaction',
  any,
  async (context, participant, random) => {
    if (await stopInside(participant)) await context.sleep(between(random, 0, 500));
    await context.participants.kill(participant);
    await participant.start(context.participants);
  },
);

export const sqliteProcessFaults: readonly ProcessFault[] = [
  ...[kill, freeze, wallClock, freezeInside, killInside],
];
