/** Faults of the processes on PostgreSQL, and of the network between them and the server. */
import { between, type Random } from 'holdfast-trials/support/random';
import { OPTIONS } from '../settings.js';
import type { WireProxy } from '../postgres/wire-proxy.js';
import { participantFault } from './fault.js';
import {
  any,
  fewLosses,
  freeze,
  kill,
  partition,
  type ProcessFault,
  wallClock,
} from './processes.js';

/** A fault that the proxy of a process makes. */
function wireFault(
  kind: string,
  start: (gate: WireProxy, random: Random) => void,
  longest = 1500,
): ProcessFault {
  return participantFault(kind, any, async (context, { route: { gate } }, random) => {
    if (gate === undefined) return;
    start(gate, random);
    await context.sleep(between(random, 100, longest));
    gate.heal();
  });
}

export const postgresProcessFaults: readonly ProcessFault[] = [
  ...[kill, freeze, wallClock],
  partition('partition', 'both', any),
  partition('requests cut', 'requests', any),
  partition('replies cut', 'replies', any),
  wireFault('late replies', (gate, random) => {
    gate.delayReplies(between(random, 5, OPTIONS.requestTimeout * 1.5));
  }),
  wireFault('lost replies', (gate, random) => gate.loseReplies(fewLosses(random))),
  wireFault('lost messages', (gate) => gate.dropMessages()),
  // the client gives a statement up before it arrives
  wireFault('late requests', (gate) => gate.holdRequests(), 2500),
  wireFault('silent wake connection', (gate) => gate.silenceListening(), 4 * OPTIONS.ttl),
  wireFault('cut connections', (gate, random) => {
    gate.cut();
    if (random() < 0.5) gate.refuse();
  }),
];
