/** A look at a quorum writes nothing, and shows what a majority has. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../../src/index.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumRegister } from '../../../src/store/quorum/quorum-register.js';
import { QuorumStore } from '../../../src/store/quorum/quorum-store.js';
import { Link } from '../../support/lossy-link.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const TERMS = { timeout: 100, guard: 60_000, durable: false, fraction: (): number => 0.5 };
let clock: VirtualClock;
let servers: MemoryAcceptor[];
let links: Link[];

beforeEach(() => {
  clock = new VirtualClock();
  servers = Array.from({ length: 5 }, (_, at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  links = servers.map((server) => new Link(server));
});

const open = (): Holdfast => {
  return new Holdfast(new QuorumStore({ acceptors: () => links, clock, ...TERMS }), { clock });
};

async function infos(holdfast: Holdfast): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of holdfast.list()) keys.push(key);
  return keys;
}

describe('looks at a lock', () => {
  it('promise and write nothing', async () => {
    const [one, other] = [open(), open()];
    const lease = await clock.until(one.mutex('k').acquire());
    await clock.advance(200);
    const sums = (): number[] => links.map(({ sent }) => sent.prepare + sent.accept);
    const before = sums();
    const info = await clock.until(other.inspect('k'));
    expect(info?.holders).toMatchObject([{ fence: lease.fence }]);
    expect(await clock.until(infos(other))).toEqual(['k']);
    expect(sums()).toEqual(before);
    // a look took no ballot away: the holder needs no read
    const prepares = (): number => links.reduce((sum, { sent }) => sum + sent.prepare, 0);
    const read = prepares();
    await clock.until(lease.release());
    expect(prepares()).toBe(read);
  });

  it('do not keep the key', async () => {
    const [one, other] = [open(), open()];
    await clock.until(one.mutex('k').run(() => undefined));
    for (let at = 0; at < 40; at++) {
      await clock.until(other.inspect('k'));
      await clock.advance(10_000);
    }
    const kept = await Promise.all(
      servers.map(async (server) => {
        const names: string[] = [];
        for await (const name of server.keys('')) names.push(name);
        return names;
      }),
    );
    expect(kept.flat()).toEqual([]);
  });

  it('of the same process come after its earlier commands', async () => {
    const one = open();
    const [lease, info] = await clock.until(
      Promise.all([one.mutex('k').acquire(), one.inspect('k')]),
    );
    expect(info?.holders[0]?.fence).toBe(lease.fence);
  });
});

describe('a look at a state', () => {
  const change = (
    state: string,
  ): { state: string; forgetAt: number; fence: number } & {
    messages: [];
  } => ({ state, forgetAt: clock.wall() * 1000 + 60e6, fence: 0, messages: [] });

  it('that only a minority accepted shows the one before', async () => {
    const register = new QuorumRegister(links, { clock, ...TERMS, spares: false });
    const { version } = await clock.until(register.read('k'));
    const swapped = await clock.until(register.swap('k', version, change('a')));
    for (const link of links.slice(1)) {
      link.fate = (request) => (request === 'accept' ? 'lost' : 'arrives');
    }
    const used = swapped === false ? '' : swapped.version;
    const writing = register.swap('k', used, change('b')).catch(() => false);
    await clock.advance(50);
    expect((await clock.until(register.look('k'))).state).toBe('a');
    for (const link of links) link.fate = () => 'arrives';
    await clock.until(writing);
    await clock.advance(500);
    expect((await clock.until(register.look('k'))).state).toBe('b');
  });

  it('fails if too few servers answer', async () => {
    const register = new QuorumRegister(links, { clock, ...TERMS });
    await clock.until(register.read('k'));
    for (const link of links.slice(2)) link.fate = () => 'lost';
    await expect(clock.until(register.look('k'))).rejects.toMatchObject({
      kind: 'unanswered',
      message: expect.stringMatching(/2 of 5 servers agreed/),
    });
  });
});
