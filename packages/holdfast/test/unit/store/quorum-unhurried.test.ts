/** Commands that change nothing, while another process is about to change their key. */
import { expect, it } from 'vitest';
import type { KeyCommand, Reply } from '../../../src/engine/commands.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumRegister } from '../../../src/store/quorum/quorum-register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { Link } from '../../support/lossy-link.js';
import { randomOf } from '../../support/seeded-random.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const retention = 60_000;

const acquire = (id: string, channel: string): KeyCommand => ({
  ...{ op: 'acquire', key: 'k', id, owner: '', weight: 1, kind: 'mutex', capacity: 1 },
  ...{ ttl: 10_000, claim: 1000, fair: false, handOffs: 0, channel, queue: true, ticket: 0 },
  ...{ waited: 0, tasks: 1, maxQueue: 100, patience: 1000, retention, meta: '', token: id },
});

const release = (id: string, unhurried: boolean): KeyCommand => {
  return { op: 'release', key: 'k', id, unhurried, retention };
};

it('a release that changes nothing leaves the ballot to the holder of the lock', async () => {
  const clock = new VirtualClock();
  const servers = [0, 1, 2].map((at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  const processOf = async (channel: string, seed: number): Promise<[RegisterStore, Link[]]> => {
    const links = servers.map((server) => new Link(server));
    const random = randomOf(seed);
    const settings = { timeout: 100, guard: 0, durable: true, fraction: random };
    const register = new QuorumRegister(links, { clock, ...settings });
    const nothing = (): void => undefined;
    const listener = { message: nothing, up: nothing, down: nothing };
    await clock.until(register.listen(channel, listener));
    return [new RegisterStore(register, { clock, fraction: random }), links];
  };
  const send = (store: RegisterStore, command: KeyCommand): Promise<Reply> => {
    const [reply] = store.execute([command]) as [Promise<Reply>];
    return clock.until(reply);
  };
  const [mine] = await processOf('one', 1);
  const [theirs, links] = await processOf('other', 2);
  const prepares = (): number => links.reduce((sum, { sent }) => sum + sent.prepare, 0);
  // it keeps a state that a release of another acquisition does not change
  await send(mine, acquire('a', 'one'));
  await send(mine, release('a', false));
  await send(theirs, acquire('b', 'other'));
  const before = prepares();
  const [late] = mine.execute([release('c', true)]) as [Promise<Reply>];
  await clock.advance(3);
  await send(theirs, release('b', false));
  expect(prepares()).toBe(before);
  await clock.until(late);
});
