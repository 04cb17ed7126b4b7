/** Wrong clocks of servers: what is granted, and what is said about them. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type HoldfastOptions } from '../../../src/index.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumStore } from '../../../src/store/quorum/quorum-store.js';
import { Link } from '../../support/lossy-link.js';
import { VirtualClock } from '../../support/virtual-clock.js';

let clock: VirtualClock;
let servers: MemoryAcceptor[];
let links: Link[];

beforeEach(() => {
  clock = new VirtualClock();
  servers = Array.from({ length: 3 }, (_, at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  links = servers.map((server) => new Link(server));
});

function open(options: HoldfastOptions = {}): Holdfast {
  const terms = { timeout: 100, guard: 60_000, durable: false, fraction: (): number => 0.5 };
  const store = new QuorumStore({ acceptors: () => links, clock, ...terms });
  return new Holdfast(store, { clock, ...options });
}

describe('one wrong clock and one dead server of three', () => {
  it.each([-300_000, 300_000])('make no fence go back (%i ms)', async (offset) => {
    const one = open();
    const first = await clock.until(one.mutex('k').acquire());
    await clock.until(first.release());
    // its record is forgotten
    await clock.advance(200_000);
    (servers[1] as MemoryAcceptor).offset = offset;
    (links[2] as Link).fate = () => 'lost';
    const other = open();
    const second = await clock.until(other.mutex('k').acquire({ ttl: 1_000_000 }));
    expect(second.fence).toBeGreaterThan(first.fence);
  });

  it('are named in the error, which says nothing of other holders or a longer ttl', async () => {
    await clock.until(
      open()
        .mutex('other')
        .run(() => undefined),
    );
    (servers[1] as MemoryAcceptor).offset = -300_000;
    const one = open({ claimWindow: 200 });
    await clock.until(one.mutex('k').run(() => undefined));
    (links[2] as Link).fate = () => 'lost';
    // until then, the bounds of the dead server's clock are known
    await clock.advance(70_000);
    const error = await clock
      .until(one.mutex('k').acquire({ wait: 3000 }))
      .catch((reason: unknown) => reason as Error & { code: string });
    expect(error).toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(/server 2 .*its clock is off by -300000 ms/),
    });
    expect((error as Error).message).toMatch(/the clocks of the servers differ by \d+ ms/);
    expect((error as Error).message).not.toMatch(/longer ttl|another/);
  });
});

describe('slow answers, and clocks that agree', () => {
  /** What a lock says whose lease is shorter than the answers take. */
  async function refused(dead: readonly number[]): Promise<string> {
    const one = open();
    await clock.until(one.mutex('k').run(() => undefined));
    for (const at of dead) (links[at] as Link).fate = () => 'lost';
    await clock.advance(70_000);
    for (const link of links) makeSlow(link, 90);
    const error = await clock
      .until(one.mutex('k').acquire({ ttl: 50, wait: 3000 }))
      .catch((reason: unknown) => reason as Error);
    return (error as Error).message;
  }

  /** Each answer comes later. */
  function makeSlow(link: Link, ms: number): void {
    for (const name of ['prepare', 'accept'] as const) {
      const send = link[name].bind(link) as (...args: unknown[]) => Promise<unknown>;
      const slow = async (...args: unknown[]): Promise<unknown> => {
        const vote = await send(...args);
        await new Promise<void>((resolve) => void clock.after(ms, resolve));
        return vote;
      };
      Object.assign(link, { [name]: slow });
    }
  }

  it.each([
    ['all servers', []],
    ['a majority', [2]],
  ])('are the reason that is told (%s)', async (_, dead) => {
    const text = await refused(dead);
    expect(text).toMatch(/took up to 9\d ms, so their clocks are known to within \d+ ms only/);
    expect(text).toMatch(/a lease of 50 ms; use a longer ttl, or look for slow servers/);
    expect(text).not.toMatch(/differ|is off/);
  });
});

it('a wrong clock is told once in a minute, without any other failure', async () => {
  const told: string[] = [];
  const one = open({ onWarning: ({ code, message }) => void told.push(`${code} ${message}`) });
  const use = async (): Promise<void> => {
    await clock.until(one.mutex('k').run(() => undefined));
    await clock.advance(2000);
  };
  await use();
  (servers[1] as MemoryAcceptor).offset = 900;
  for (let round = 0; round < 3; round++) await use();
  // a control: clocks that differ by less are no warning
  expect(told).toEqual([]);
  (servers[1] as MemoryAcceptor).offset = -300_000;
  for (let round = 0; round < 10; round++) await use();
  // the texts of warnings are loaded with the first one
  await vi.waitFor(() => expect(told).not.toEqual([]), 20_000);
  expect(told).toEqual([
    expect.stringMatching(/^HOLDFAST_SERVER_CLOCK .*the clock of server 2 is off by -300000 ms/),
  ]);
  await clock.advance(60_000);
  for (let round = 0; round < 3; round++) await use();
  await new Promise(setImmediate);
  expect(told).toHaveLength(2);
});

it('a wrong clock is named from the moment at which it is seen', async () => {
  (servers[1] as MemoryAcceptor).offset = 86_400_000;
  const one = open();
  await clock.until(one.mutex('k').run(() => undefined));
  expect(await clock.until(one.health())).toMatchObject({
    status: 'degraded',
    problems: [expect.stringMatching(/server 2 .*its clock is off by 86400000 ms/)],
  });
});

it('a server that fails is named by the health check', async () => {
  const one = open();
  await clock.until(one.mutex('k').run(() => undefined));
  expect(await clock.until(one.health())).toMatchObject({ status: 'ok', problems: [] });
  (links[0] as Link).fate = () => 'lost';
  await clock.advance(2000);
  await clock.until(one.mutex('k').run(() => undefined));
  await clock.advance(200);
  expect((await clock.until(one.health())).problems.join()).toMatch(/server 1 did not answer/);
});

it('the guard of a server ends by the clock of the quorum, also if its own is ahead', async () => {
  const server = servers[0] as MemoryAcceptor;
  server.restart('loses');
  const { boot } = await server.check({ durable: false });
  const now = clock.wall() * 1000;
  const decision = { boot, from: now + 60e6, mark: 0, long: [], partial: false };
  await server.check({ durable: false, decision });
  server.offset = 3_600_000;
  expect(await server.prepare('k', 'a', now + 59e6)).toMatchObject({ status: 'guarded' });
  expect(await server.prepare('k', 'a', now + 60e6)).toMatchObject({ status: 'yes' });
});
