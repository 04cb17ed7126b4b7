/** Bare rounds: a majority of the servers is asked first, and the others are healed later. */
import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumRegister } from '../../../src/store/quorum/quorum-register.js';
import type { Message } from '../../../src/store/register/register.js';
import { Link } from '../../support/lossy-link.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const SERVERS = 5;
let clock: VirtualClock;
let servers: MemoryAcceptor[];
let links: Link[];
let register: QuorumRegister;
let version: string;

function open(spares = true): void {
  links = servers.map((server) => new Link(server));
  const settings = { timeout: 100, guard: 60_000, durable: false, fraction: () => 0.5, spares };
  register = new QuorumRegister(links, { clock, ...settings });
}

async function write(state: string, messages: Message[] = []): Promise<void> {
  const forgetAt = clock.wall() * 1000 + 60e6;
  const change = { state, forgetAt, fence: 0, messages };
  const swapped = await clock.until(register.swap('k', version, change));
  if (swapped === false) throw new Error('another process was first');
  version = swapped.version;
}

const accepts = (): number[] => links.map(({ sent }) => sent.accept);
const asked = (before: readonly number[]): number[] =>
  accepts().map((count, at) => count - (before[at] as number));
const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);
/** The servers that a bare round asks first. */
let first: Link[];
const others = (): Link[] => links.filter((link) => !first.includes(link));
const hasState = async (server: MemoryAcceptor, state: string): Promise<boolean> => {
  const vote = await server.prepare('k', '9'.repeat(28), clock.wall() * 1000);
  return vote.status === 'yes' && vote.value.endsWith(`\n${state}`);
};

beforeEach(async () => {
  clock = new VirtualClock();
  servers = Array.from({ length: SERVERS }, (_, at) => {
    return new MemoryAcceptor(`s${at}`, clock, 3_600_000);
  });
  open();
  version = (await clock.until(register.read('k'))).version;
  const before = accepts();
  await write('first');
  first = links.filter((_, at) => asked(before)[at] === 1);
  await clock.advance(150);
});

describe('a swap without messages', () => {
  it('asks three of five servers, which are the same for one key', async () => {
    expect(first).toHaveLength(3);
    const before = first.map(({ sent }) => sent.accept);
    await write('second');
    expect(first.map(({ sent }, at) => sent.accept - (before[at] as number))).toEqual([1, 1, 1]);
  });

  it('control: asks all servers if none may be spared', async () => {
    open(false);
    version = (await clock.until(register.read('k'))).version;
    const before = accepts();
    await write('second');
    expect(asked(before)).toEqual([1, 1, 1, 1, 1]);
  });

  it('asks the others soon if one of the first is silent, and spares that one then', async () => {
    const [silent] = first as [Link];
    silent.fate = () => 'lost';
    const before = clock.now();
    await write('second');
    expect(clock.now() - before).toBeLessThan(20);
    const sent = silent.sent.accept;
    const start = clock.now();
    for (let at = 0; at < 5; at++) await write(`${at}`);
    expect(silent.sent.accept).toBe(sent);
    expect(clock.now() - start).toBeLessThan(10);
  });

  it('asks the others at once if one of the first has promised another ballot', async () => {
    const at = links.indexOf(first[0] as Link);
    await (servers[at] as MemoryAcceptor).prepare('k', '9'.repeat(28), clock.wall() * 1000);
    const before = accepts();
    const start = clock.now();
    await write('second');
    expect(sum(asked(before))).toBe(SERVERS);
    expect(clock.now() - start).toBeLessThan(2);
  });

  it('does not wait for two silent servers after another one has promised a ballot', async () => {
    const [one, two, refusing] = first as [Link, Link, Link];
    for (const link of [one, two]) link.fate = () => 'lost';
    const ballot = `${BigInt(version.slice(0, 16)) + 1n}${version.slice(16)}`;
    await (servers[links.indexOf(refusing)] as MemoryAcceptor).prepare(
      'k',
      ballot,
      clock.wall() * 1000,
    );
    const start = clock.now();
    await write('second');
    expect(clock.now() - start).toBeLessThan(50);
    version = (await clock.until(register.read('k'))).version;
    expect((await clock.until(register.read('k'))).state).toBe('second');
  });

  it('is not lost if two of the servers that accepted it fail at once', async () => {
    await write('second');
    for (const link of first.slice(0, 2)) link.fate = () => 'lost';
    expect((await clock.until(register.read('k'))).state).toBe('second');
  });

  it('reaches the others later, and many swaps cost them one request', async () => {
    const before = others().map(({ sent }) => sent.accept);
    for (let at = 0; at < 20; at++) await write(`${at}`);
    const later = (): number[] => {
      return others().map(({ sent }, at) => sent.accept - (before[at] as number));
    };
    expect(later()).toEqual([0, 0]);
    await clock.advance(150);
    expect(later()).toEqual([1, 1]);
    const behind = servers.filter((_, at) => others().includes(links[at] as Link));
    expect(await Promise.all(behind.map((server) => hasState(server, '19')))).toEqual([true, true]);
  });
});

it('a swap with messages asks all servers, because a receiver may hear only some', async () => {
  const before = accepts();
  await write('second', [{ channel: 'c', text: 'granted' }]);
  expect(asked(before)).toEqual([1, 1, 1, 1, 1]);
});

it('all servers are asked once in a second', async () => {
  await clock.advance(1000);
  const before = accepts();
  await write('second');
  expect(asked(before)).toEqual([1, 1, 1, 1, 1]);
});
