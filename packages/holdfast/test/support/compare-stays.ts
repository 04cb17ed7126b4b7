/** Compares acceptors while promises stay and commands are left at them. */
import { expect, vi } from 'vitest';
import type { Acceptor, Vote } from '../../src/store/quorum/acceptor.js';
import { freshKey } from '../suites/helpers.js';
import { randomOf } from './seeded-random.js';

/** Contenders that leave commands to the owner of a promise, and owners that get them. */
export async function compareStays(
  both: readonly Acceptor[],
  compare: (ask: (acceptor: Acceptor) => Promise<Vote>) => Promise<void>,
): Promise<void> {
  const random = randomOf(11);
  const key = freshKey();
  const owners = ['', '-', 'secret one', 'secret two', 'token two'];
  const any = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const ballotOf = (time: number, proposer: string): string =>
    `${time}`.padStart(16, '0') + proposer.padStart(12, '0');
  const told = await Promise.all(both.map(async (one) => listenTo(one, ['one', 'two'])));
  let last = 1_000_000;
  for (let step = 0; step < 900; step++) {
    const now = last + Math.floor(random() * 3000) - 1000;
    const ballot = ballotOf(now, any(['1', '2']));
    const left = any(['', 'a', `["b${step}",${now + 1_490_000 - Math.floor(random() * 20_000)}]`]);
    if (random() < 0.7) {
      const asker = { owner: any(owners), yields: any([0, 500, 2000]), left };
      await compare((one) => one.prepare(key, ballot, now, asker));
    } else if (random() < 0.5) {
      const channel = any(['one', 'two']);
      const [taken, other] = await Promise.all(both.map((one) => one.collect(key, channel)));
      expect(taken).toBe(other);
    } else {
      const handOver = random() < 0.7 ? { channel: 'two', text: '=' } : undefined;
      const next = ballotOf(now + 1, any(['1', '2']));
      const proposal = {
        ballot,
        now,
        next,
        owner: any(owners.slice(2)),
        value: `v${step}`,
        keep: 60_000,
      };
      const rest = { messages: [], fence: 0, grows: true, handOver };
      await compare((one) => one.accept(key, { ...proposal, ...rest }));
    }
    last = Math.max(last, now);
  }
  await vi.waitFor(() => expect(told[0]?.heard).toEqual(told[1]?.heard), 20_000);
  expect(told[0]?.heard.some((text) => text.startsWith('one >!'))).toBe(true);
  for (const { close } of told) await close();
}

/** What an owner is told that listens on these channels. */
async function listenTo(
  acceptor: Acceptor,
  channels: readonly string[],
): Promise<{ readonly heard: readonly string[]; readonly close: () => Promise<unknown> }> {
  const heard: string[] = [];
  const nothing = (): void => undefined;
  const opened = channels.map((channel) => {
    const message = (text: string): void => {
      if (text.startsWith('>')) heard.push(`${channel} ${text}`);
    };
    return acceptor.subscribe(channel, { message, up: nothing, down: nothing });
  });
  const all = await Promise.all(opened);
  return { heard, close: () => Promise.all(all.map((one) => one.close())) };
}
