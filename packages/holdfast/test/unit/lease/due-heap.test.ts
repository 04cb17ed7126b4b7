/** The watchdog's heap, compared with a sorted array. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Renewal, Root } from '../../../src/lease/root.js';
import { DueHeap } from '../../../src/lease/due-heap.js';
import { resolveSettings, resolveTerms } from '../../../src/base/options.js';
import { Telemetry } from '../../../src/observe/telemetry.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const clock = new VirtualClock();
const settings = resolveSettings({ clock });
const telemetry = new Telemetry(settings, 'i', 'memory', () => []);
const terms = resolveTerms(settings, {}, {}, 0);

function renewal(id: number): Renewal {
  const grant = { fence: 1, handOffs: 0, holds: 1, validUntil: 1 };
  return new Root(telemetry, { key: 'k', id: `${id}`, weight: 1, terms }, grant, 0).renewal;
}

type Move = { kind: 'put' | 'remove' | 'first'; which: number; due: number };

const moves = fc.array(
  fc.record<Move>({
    kind: fc.constantFrom('put', 'put', 'put', 'remove', 'first'),
    which: fc.nat(29),
    due: fc.nat(50),
  }),
  { maxLength: 200 },
);

it('has the first entry on top after any insertion, move and removal', () => {
  fc.assert(
    fc.property(moves, (list) => {
      const heap = new DueHeap<Renewal>();
      const records = Array.from({ length: 30 }, (_, id) => renewal(id));
      const inside = new Set<Renewal>();
      for (const { kind, which, due } of list) {
        const one = kind === 'first' ? heap.first : records[which];
        if (one === undefined) continue;
        if (kind === 'put') {
          one.due = due;
          heap.put(one);
          inside.add(one);
        } else {
          heap.remove(one);
          inside.delete(one);
        }
        const sorted = [...inside].sort((a, b) => a.due - b.due);
        expect(heap.size).toBe(sorted.length);
        expect(heap.first?.due).toBe(sorted[0]?.due);
        expect(records.every((each) => each.rank >= 0 === inside.has(each))).toBe(true);
      }
      const drained: number[] = [];
      for (let top = heap.first; top !== undefined; top = heap.first) {
        drained.push(top.due);
        heap.remove(top);
      }
      expect(drained).toEqual([...inside].map(({ due }) => due).sort((a, b) => a - b));
    }),
    { numRuns: 300 },
  );
});
