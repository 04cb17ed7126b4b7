/** Commands that change nothing, while another process is about to change their key. */
import { expect, it } from 'vitest';
import type { KeyCommand, Reply } from '../../../src/engine/commands.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { acquire, quorumProcess, RETENTION_MS } from '../../support/quorum-process.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const release = (id: string, unhurried: boolean): KeyCommand => {
  return { op: 'release', key: 'k', id, unhurried, retention: RETENTION_MS };
};

it('a release that changes nothing leaves the ballot to the holder of the lock', async () => {
  const clock = new VirtualClock();
  const servers = [0, 1, 2].map((at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  const mine = await quorumProcess(clock, servers, 'one', 1);
  const theirs = await quorumProcess(clock, servers, 'other', 2);
  const prepares = (): number => theirs.links.reduce((sum, { sent }) => sum + sent.prepare, 0);
  // it keeps a state that a release of another acquisition does not change
  await mine.send(acquire('a', 'one'));
  await mine.send(release('a', false));
  await theirs.send(acquire('b', 'other'));
  const before = prepares();
  const [late] = mine.store.execute([release('c', true)]) as [Promise<Reply>];
  await clock.advance(3);
  await theirs.send(release('b', false));
  expect(prepares()).toBe(before);
  await clock.until(late);
});
