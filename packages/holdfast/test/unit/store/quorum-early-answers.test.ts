/** A left command is answered before its server has said that it keeps it. */
import { expect, it } from 'vitest';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumRegister } from '../../../src/store/quorum/quorum-register.js';
import type { Errand, Taken } from '../../../src/store/register/peers.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** The first server's answer to the process that leaves the command, in ms. */
const LATE_MS = 60;

it('the answer is not lost', async () => {
  const clock = new VirtualClock();
  const servers = [0, 1, 2].map((at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  const asked: Errand[] = [];
  const open = async (channel: string): Promise<QuorumRegister> => {
    const settings = { timeout: 100, guard: 60_000, durable: false, fraction: () => 0.1 };
    const register = new QuorumRegister(servers, { clock, ...settings });
    register.peers.listener = {
      handedOver: () => undefined,
      asked: (_key, _command, errand) => void asked.push(errand),
    };
    const nothing = (): void => undefined;
    const listener = { message: nothing, up: nothing, down: nothing };
    await clock.until(register.listen(channel, listener));
    return register;
  };
  const [one, other] = [await open('one'), await open('other')];
  const forgetAt = clock.wall() * 1000 + 60e6;
  const change = { state: 'state', forgetAt, messages: [], fence: 0 };
  const swap = async (of: QuorumRegister, version: string, more: object = {}): Promise<string> => {
    const swapped = await clock.until(of.swap('k', version, { ...change, ...more }));
    return swapped === false ? '' : swapped.version;
  };
  await swap(one, (await clock.until(one.read('k'))).version);
  const version = await swap(other, (await clock.until(other.read('k'))).version);
  for (const server of servers) {
    const prepare = server.prepare.bind(server);
    server.prepare = async (...request) => {
      const vote = await prepare(...request);
      await new Promise<void>((resolve) => void clock.after(LATE_MS, resolve));
      return vote;
    };
  }
  const reading = one.readFree('k', [{ command: '{}' }], false);
  // the owner collects the command, and answers it with a change
  await clock.advance(LATE_MS / 2);
  expect(asked).toHaveLength(1);
  const answers = asked.map((errand) => other.peers.answerTo(errand, 'done'));
  await swap(other, version, { answers });
  const [answer] = ((await clock.until(reading)) as Taken).left as [Promise<string | undefined>];
  await clock.advance(1);
  expect(await Promise.race([answer, Promise.resolve('no answer yet')])).toBe('done');
});
