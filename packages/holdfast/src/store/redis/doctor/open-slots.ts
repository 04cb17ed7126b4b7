/** Looks for half moved slots of a cluster: the move goes on, or has stopped. */
import type { Probe } from './probe.js';

/** A node receives a slot `[93-<-id]`, or gives it `[93->-id]`. */
const OPEN = /\[(\d+)-([<>])-(\w+)\]/g;
const SHOWN_MAX = 5;

export async function judgeOpenSlots(probe: Probe): Promise<void> {
  const words = ['CLUSTER', 'NODES'];
  const text = await probe.look(words, '+cluster|nodes', 'which slots are half moved');
  const lines = typeof text === 'string' ? text.split('\n') : [];
  const own = lines.find((line) => / (?:\w+,)*myself[, ]/.test(line));
  const open = [...(own ?? '').matchAll(OPEN)].map(
    ([, slot, way, id]) => `${slot} ${way === '>' ? 'to' : 'from'} ${id}`,
  );
  if (open.length === 0) return;
  const more = open.length > SHOWN_MAX ? `, and ${open.length - SHOWN_MAX} more` : '';
  probe.add({
    code: 'open-slots',
    severity: 'warning',
    message: 'slots are half moved: locks in them that others wait for may be out of reach',
    evidence: `CLUSTER NODES: slot ${open.slice(0, SHOWN_MAX).join(', ')}${more}`,
    advice: 'let the move end; if it has stopped, redis-cli --cluster fix, or SETSLOT STABLE',
  });
}
