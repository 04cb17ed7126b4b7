/**
 * A good history of any size, made while it is read: processes that queue for some keys, hold in
 * turn, in order, and look now and then whether they still hold. To measure the checker with.
 */
import type { HistoryEvent, Happening } from './format.js';

const PROCESSES = 8;
const KEYS = 10;
/** Who waits or holds on a key at a time. */
const CROWD = 16;

interface Turn {
  readonly k: string;
  readonly a: string;
  readonly p: string;
}

/** @param grants how many acquisitions are granted */
export function* generate(grants: number): Generator<HistoryEvent> {
  let t = 0;
  const at = (p: string, happening: Happening): HistoryEvent => ({
    t: (t += 0.01),
    p,
    ...happening,
  });
  const queues: Turn[][] = Array.from({ length: KEYS }, () => []);
  yield at('-', { e: 'begin', localHandOffs: 0, ttl: 10_000, claimWindow: 1000 });
  for (let index = 0; index < grants + KEYS * CROWD; index++) {
    const queue = queues[index % KEYS] as Turn[];
    if (index < grants) {
      const turn = { k: `k${index % KEYS}`, a: `a${index}`, p: `p${index % PROCESSES}` };
      const { p, k, a } = turn;
      yield at(p, { e: 'ask', k, a, weight: 1, capacity: 1, fair: true });
      yield at(p, { e: 'queued', k, a, ticket: index + 1 });
      queue.push(turn);
    }
    const isFull = queue.length >= CROWD || index >= grants;
    if (!isFull) continue;
    const next = queue.shift();
    if (next === undefined) continue;
    const { p, k, a } = next;
    yield at(p, { e: 'grant', k, a, id: `id-${a}`, fence: index + 1 });
    yield at(p, { e: 'hold', k, a });
    yield at(p, { e: 'use', k, a, fence: index + 1, accepted: true });
    yield at(p, { e: 'release', k, a });
    yield at(p, { e: 'released', k, a, outcome: 'freed' });
  }
  yield at('-', { e: 'end' });
}
