/** How `inspect` and errors describe each server of a quorum. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type LockInfo, memory, type ServerInfo } from '../../../src/index.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumStore } from '../../../src/store/quorum/quorum-store.js';
import { Link } from '../../support/lossy-link.js';
import { VirtualClock } from '../../support/virtual-clock.js';

let clock: VirtualClock;
let servers: MemoryAcceptor[];
let links: Link[];
let holdfast: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  servers = Array.from({ length: 5 }, (_, at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  links = servers.map((server) => new Link(server));
  const terms = { timeout: 100, guard: 60_000, durable: false, fraction: () => 0.5 };
  holdfast = new Holdfast(new QuorumStore({ acceptors: () => links, clock, ...terms }), { clock });
});

async function done<T>(promise: Promise<T>): Promise<T> {
  let over = false;
  const end = (): void => void (over = true);
  promise.then(end, end);
  while (!over) await clock.advance(1);
  return promise;
}

async function inspected(): Promise<readonly ServerInfo[]> {
  const { servers: infos } = (await done(holdfast.inspect('k'))) as LockInfo;
  return infos ?? [];
}

describe('inspect', () => {
  it('says that all servers agreed', async () => {
    await done(holdfast.mutex('k').acquire());
    const info = { status: 'agreed', text: 'agreed', clockOffset: 0 };
    expect(await inspected()).toEqual([1, 2, 3, 4, 5].map((server) => ({ server, ...info })));
  });

  it('names the servers that are late, failed, restarted or have a wrong clock', async () => {
    (servers[0] as MemoryAcceptor).offset = 30_000;
    await done(holdfast.mutex('k').acquire());
    await clock.advance(20_000);
    (links[1] as Link).fate = () => 'lost';
    (servers[3] as MemoryAcceptor).restart('loses');
    await inspected();
    await clock.advance(200);
    const infos = await inspected();
    expect(infos.map(({ status }) => status)).toEqual([
      'agreed',
      'late',
      'agreed',
      'restarted',
      'agreed',
    ]);
    expect(infos[0]).toMatchObject({ clockOffset: 30_000 });
    expect(infos[0]?.text).toBe('agreed, its clock is off by 30000 ms');
    expect(infos[1]?.text).toBe('did not answer in time');
    expect(infos[3]?.text).toMatch(/has no memory of earlier votes .* votes in \d+ s/);
  });

  it('counts the guard by the clock of the quorum, not by that of the server', async () => {
    const lease = await done(holdfast.mutex('k').acquire({ ttl: 200_000 }));
    await clock.advance(20_000);
    const restarted = servers[3] as MemoryAcceptor;
    restarted.restart('loses');
    await inspected();
    await clock.advance(200);
    // as after a boot with a wrong clock
    restarted.offset = 3_600_000;
    expect((await inspected())[3]).toMatchObject({ status: 'restarted' });
    await clock.advance(60_000);
    expect((await inspected())[3]).toMatchObject({ status: 'restarted' });
    await clock.advance(200_000);
    await inspected();
    expect((await inspected())[3]).toMatchObject({ status: 'agreed' });
    expect(lease.held).toBe(true);
  });

  it('names a server that answers with an error', async () => {
    await done(holdfast.mutex('k').acquire());
    (links[2] as Link).look = () => Promise.reject(new Error('connection refused'));
    const infos = await inspected();
    expect(infos[2]).toMatchObject({ status: 'failed', text: 'failed (connection refused)' });
  });
});

it('a store with one server names no servers', async () => {
  const single = new Holdfast(memory(), { clock });
  await single.mutex('k').acquire();
  expect(await single.inspect('k')).not.toHaveProperty('servers');
});
