/**
 * Generates a good history of any size, for measurements of the checker. Processes queue for some
 * keys and hold them in the order of the queue.
 */
import type { HistoryEvent, Happening } from './format.js';

const PROCESSES = 8;
const KEYS = 10;
/** Attempts that wait on a key before the first is granted. */
const QUEUE_LENGTH = 16;

interface Acquisition {
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
  const queues: Acquisition[][] = Array.from({ length: KEYS }, () => []);
  yield at('-', { e: 'begin', localHandOffs: 0, ttl: 10_000, claimWindow: 1000 });
  for (let index = 0; index < grants + KEYS * QUEUE_LENGTH; index++) {
    const queue = queues[index % KEYS] as Acquisition[];
    if (index < grants) {
      const attempt = { k: `k${index % KEYS}`, a: `a${index}`, p: `p${index % PROCESSES}` };
      const { p, k, a } = attempt;
      yield at(p, { e: 'ask', k, a, weight: 1, capacity: 1, fair: true });
      yield at(p, { e: 'queued', k, a, ticket: index + 1 });
      queue.push(attempt);
    }
    const isFull = queue.length >= QUEUE_LENGTH || index >= grants;
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
