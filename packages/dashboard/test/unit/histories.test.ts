/** The histories of locks in the page. */
import { expect, it } from 'vitest';

interface Histories {
  of(key: string): object[];
  add(key: string, state: object, kept: string | undefined): void;
}

it('are those of the 5,000 keys that changed last, and of the selected one', async () => {
  const path = new URL('../../assets/histories.js', import.meta.url).href;
  const { Histories } = (await import(path)) as { Histories: new () => Histories };
  const histories = new Histories();
  for (let at = 0; at < 6000; at++) histories.add(`k${at}`, { at }, 'k0');
  const kept = Array.from({ length: 6000 }, (_, at) => histories.of(`k${at}`).length);
  expect(kept.reduce((sum, one) => sum + one)).toBe(5000);
  expect([kept[0], kept[1], kept[1000], kept[1001]]).toEqual([1, 0, 0, 1]);
});
