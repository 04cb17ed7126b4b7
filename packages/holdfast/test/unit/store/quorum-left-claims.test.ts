/** An acquisition was left to another process, whose answer is lost, and got its lease. */
import { expect, it } from 'vitest';
import type { KeyCommand, Reply } from '../../../src/engine/commands.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { ANSWERED } from '../../../src/store/quorum/quorum-channel.js';
import { QuorumRegister } from '../../../src/store/quorum/quorum-register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { Link } from '../../support/lossy-link.js';
import { randomOf } from '../../support/seeded-random.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const retention = 60_000;
/** The usual claim window, in ms. */
const CLAIM = 1000;

const acquire = (id: string, channel: string): KeyCommand => ({
  ...{ op: 'acquire', key: 'k', id, owner: '', weight: 1, kind: 'mutex', capacity: 1 },
  ...{ ttl: 10_000, claim: CLAIM, fair: false, handOffs: 0, channel, queue: true, ticket: 0 },
  ...{ waited: 0, tasks: 1, maxQueue: 100, patience: 1000, retention, meta: '', token: id },
});

it('the renewal that claims the lease does not wait for the answer', async () => {
  const clock = new VirtualClock();
  const servers = [0, 1, 2].map((at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  const processOf = async (channel: string, seed: number): Promise<RegisterStore> => {
    const links = servers.map((server) => new Link(server));
    for (const link of links) {
      const subscribe = link.subscribe;
      link.subscribe = (name, listener) => {
        const message = (text: string): void => {
          if (!text.includes(` ${ANSWERED}`)) listener.message(text);
        };
        return subscribe(name, { message, up: () => listener.up(), down: () => listener.down() });
      };
    }
    const random = randomOf(seed);
    const settings = { timeout: 100, guard: 0, durable: true, fraction: random };
    const register = new QuorumRegister(links, { clock, ...settings });
    const nothing = (): void => undefined;
    const listener = { message: nothing, up: nothing, down: nothing };
    await clock.until(register.listen(channel, listener));
    return new RegisterStore(register, { clock, fraction: random });
  };
  const send = (store: RegisterStore, command: KeyCommand): Promise<Reply> => {
    const [reply] = store.execute([command]) as [Promise<Reply>];
    return clock.until(reply);
  };
  const [mine, theirs] = [await processOf('one', 1), await processOf('other', 2)];
  await send(mine, acquire('a', 'one'));
  let isAnswered = false;
  const [left] = theirs.execute([acquire('b', 'other')]) as [Promise<Reply>];
  void left.then(() => (isAnswered = true));
  await clock.advance(50);
  await send(mine, { op: 'release', key: 'k', id: 'a', retention });
  await clock.advance(50);
  // the other process has applied it: the lock is theirs
  const inspected = await send(mine, { op: 'inspect', key: 'k', limit: 1 });
  expect(inspected).toMatchObject({ holders: [{ id: 'b' }] });
  expect(isAnswered).toBe(false);
  const began = clock.now();
  const claimed = await send(theirs, { op: 'renew', key: 'k', id: 'b', ttl: 10_000, retention });
  expect(claimed.status).toBe('renewed');
  expect(clock.now() - began).toBeLessThan(CLAIM / 4);
  expect(await clock.until(left)).toMatchObject({ status: 'granted' });
});
