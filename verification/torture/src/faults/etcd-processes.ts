/** Faults of the processes on etcd, and of the network between them and the members. */
import { between, pick, type Random } from 'holdfast-trials/support/random';
import { QUORUM_OPTIONS } from '../settings.js';
import type { HttpProxy } from '../etcd/http-proxy.js';
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

/** A fault of the traffic of one process with one member, or with all of them. */
function httpFault(
  kind: string,
  start: (gate: HttpProxy, random: Random) => void,
  longest = 1500,
): ProcessFault {
  return participantFault(kind, any, async (context, { route: { gates = [] } }, random) => {
    const chosen = random() < 0.5 ? gates : [pick(random, gates)];
    for (const gate of chosen) start(gate, random);
    await context.sleep(between(random, 100, longest));
    for (const gate of chosen) gate.heal();
  });
}

export const etcdProcessFaults: readonly ProcessFault[] = [
  ...[kill, freeze, wallClock],
  partition('partition', 'both', any),
  partition('requests cut', 'requests', any),
  partition('replies cut', 'replies', any),
  httpFault('late replies', (gate, random) => {
    gate.delayReplies(between(random, 5, QUORUM_OPTIONS.requestTimeout * 1.5));
  }),
  httpFault('lost replies', (gate, random) => gate.loseReplies(fewLosses(random))),
  httpFault('lost messages', (gate) => gate.dropMessages()),
  httpFault('duplicates', (gate, random) => {
    gate.repeat(() => (random() < 0.5 ? between(random, 0, 300) : undefined));
  }),
  // the client gives a request up before it arrives
  httpFault('late requests', (gate) => gate.holdRequests(), 3000),
  httpFault('silent wake connection', (gate) => gate.silenceWatches(), 4000),
  httpFault('cut connections', (gate, random) => {
    if (random() < 0.5) gate.cut();
    else gate.refuse();
  }),
];
