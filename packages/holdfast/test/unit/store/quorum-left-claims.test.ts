/** An acquisition was left to another process, whose answer is lost, and got its lease. */
import { expect, it } from 'vitest';
import type { Reply } from '../../../src/engine/commands.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { ANSWERED } from '../../../src/store/quorum/quorum-channel.js';
import type { Link } from '../../support/lossy-link.js';
import { acquire, CLAIM_MS, quorumProcess, RETENTION_MS } from '../../support/quorum-process.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const retention = RETENTION_MS;

function losesAnswers(link: Link): void {
  const subscribe = link.subscribe;
  link.subscribe = (name, listener) => {
    const message = (text: string): void => {
      if (!text.includes(` ${ANSWERED}`)) listener.message(text);
    };
    return subscribe(name, { message, up: () => listener.up(), down: () => listener.down() });
  };
}

it('the renewal that claims the lease does not wait for the answer', async () => {
  const clock = new VirtualClock();
  const servers = [0, 1, 2].map((at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  const mine = await quorumProcess(clock, servers, 'one', 1, losesAnswers);
  const theirs = await quorumProcess(clock, servers, 'other', 2, losesAnswers);
  await mine.send(acquire('a', 'one'));
  let isAnswered = false;
  const [left] = theirs.store.execute([acquire('b', 'other')]) as [Promise<Reply>];
  void left.then(() => (isAnswered = true));
  await clock.advance(50);
  await mine.send({ op: 'release', key: 'k', id: 'a', retention });
  await clock.advance(50);
  // the other process has applied it: the lock is theirs
  const inspected = await mine.send({ op: 'inspect', key: 'k', limit: 1 });
  expect(inspected).toMatchObject({ holders: [{ id: 'b' }] });
  expect(isAnswered).toBe(false);
  const began = clock.now();
  const claimed = await theirs.send({ op: 'renew', key: 'k', id: 'b', ttl: 10_000, retention });
  expect(claimed.status).toBe('renewed');
  expect(clock.now() - began).toBeLessThan(CLAIM_MS / 4);
  expect(await clock.until(left)).toMatchObject({ status: 'granted' });
});
