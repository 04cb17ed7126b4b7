/** Chains keep the order of arrival, and records are found by their id. */
import { expect, it } from 'vitest';
import { Chain, Link, Records } from '../../src/base/chain.js';

class Entry extends Link {
  readonly id: string;

  constructor(id: string) {
    super();
    this.id = id;
  }
}

const entries = (count: number): Entry[] =>
  Array.from({ length: count }, (_, n) => new Entry(`${n}`));

it('a chain has the order of arrival, whatever leaves it', () => {
  for (const leaves of [[0], [1], [3], [0, 1], [1, 2], [3, 2, 1, 0]]) {
    const chain = new Chain<Entry>();
    const all = entries(4);
    for (const one of all) chain.add(one);
    for (const place of leaves) expect(chain.remove(all[place] as Entry)).toBe(true);
    const rest = all.filter((_, place) => !leaves.includes(place));
    expect([chain.all(), chain.first, chain.size]).toEqual([rest, rest[0], rest.length]);
    const late = new Entry('late');
    chain.add(late);
    expect(chain.all()).toEqual([...rest, late]);
  }
});

it('an object leaves only the chain that it is in, once, and keeps no other alive', () => {
  const [one, other] = [new Chain<Entry>(), new Chain<Entry>()];
  const [a, b, c] = entries(3) as [Entry, Entry, Entry];
  for (const entry of [a, b, c]) one.add(entry);
  expect([other.remove(b), one.remove(b), one.remove(b)]).toEqual([false, true, false]);
  expect([b.chain, b.before, b.after]).toEqual([undefined, undefined, undefined]);
  other.add(b);
  expect([one.all(), other.all()]).toEqual([[a, c], [b]]);
});

it('records are found between any additions and removals', () => {
  const records = new Records<Entry>();
  const all = entries(40);
  const present = new Set<Entry>();
  for (let step = 0; step < 2000; step++) {
    // a fixed walk through all orders of additions, removals and searches
    const one = all[(step * 17 + (step >> 3)) % all.length] as Entry;
    if (present.delete(one)) {
      records.remove(one);
    } else {
      present.add(one);
      records.add(one);
    }
    if (step % 5 > 2) continue;
    for (const { id } of all) {
      const found = [...present].find((entry) => entry.id === id);
      expect(records.find(id)).toBe(found);
    }
  }
  expect(records.all()).toEqual([...present]);
});
