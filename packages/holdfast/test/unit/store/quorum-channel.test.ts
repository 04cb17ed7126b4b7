/** What a channel of a quorum keeps of messages that only one server has published. */
import { describe, expect, it } from 'vitest';
import type { Acceptor } from '../../../src/store/quorum/acceptor.js';
import { QuorumChannel } from '../../../src/store/quorum/quorum-channel.js';
import { VirtualClock } from '../../support/virtual-clock.js';

type Publish = (message: string) => void;

async function opened(): Promise<{ servers: Publish[]; told: string[] }> {
  const servers: Publish[] = [];
  const told: string[] = [];
  const acceptors = [0, 1, 2].map((at) => ({
    subscribe: async (_: string, { message }: { message: Publish }) => {
      servers[at] = message;
      return { close: async () => undefined };
    },
  }));
  const nothing = (): void => undefined;
  const channel = new QuorumChannel(acceptors as unknown as Acceptor[], 2, new VirtualClock(), {
    message: (text) => told.push(text),
    told: nothing,
    up: nothing,
    down: nothing,
    dropped: nothing,
  });
  await channel.open('wake');
  return { servers, told };
}

describe('a message of one server', () => {
  it('counts when a second one publishes it', async () => {
    const { servers, told } = await opened();
    servers[0]?.('1 <answer');
    for (let n = 0; n < 1000; n++) servers[0]?.(`2 <${n}`);
    servers[1]?.('1 <answer');
    expect(told).toEqual(['<answer']);
  });

  it('is forgotten after many', async () => {
    const { servers, told } = await opened();
    servers[0]?.('1 <answer');
    for (let n = 0; n < 2000; n++) servers[0]?.(`2 <${n}`);
    servers[1]?.('1 <answer');
    expect(told).toEqual([]);
  });

  it('is forgotten after few that are long, so that none fills the memory', async () => {
    const { servers, told } = await opened();
    servers[0]?.('1 <answer');
    for (let n = 0; n < 20; n++) servers[0]?.(`2 <${n}${'x'.repeat(1_000_000)}`);
    servers[1]?.('1 <answer');
    expect(told).toEqual([]);
    // and a later one counts
    for (const server of servers) server('3 <later');
    expect(told).toEqual(['<later']);
  });
});
