/** The register over several servers: rounds, interrupted swaps, silent servers, pushes. */
import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumRegister } from '../../../src/store/quorum/quorum-register.js';
import type { Swapped } from '../../../src/store/register/register.js';
import { Link } from '../../support/lossy-link.js';
import { VirtualClock } from '../../support/virtual-clock.js';

let clock: VirtualClock;
let servers: MemoryAcceptor[];

interface Process {
  readonly links: Link[];
  readonly register: QuorumRegister;
}

let proposers = 0;

function open(guard = 60_000): Process {
  const links = servers.map((server) => new Link(server));
  proposers += 1;
  const fraction = proposers / 1000;
  // the tests below decide which of all servers a request reaches
  const settings = { timeout: 100, guard, durable: false, spares: false };
  const options = { clock, ...settings, fraction: () => fraction };
  return { links, register: new QuorumRegister(links, options) };
}

beforeEach(() => {
  clock = new VirtualClock();
  servers = Array.from({ length: 5 }, (_, at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
});

async function write(
  { register }: Process,
  version: string,
  state: string,
  ms = 60_000,
): Promise<Swapped> {
  const forgetAt = (clock.wall() + ms) * 1000;
  return clock.until(register.swap('k', version, { state, forgetAt, messages: [], fence: 0 }));
}

async function read({ register }: Process): Promise<{ state: string; version: string }> {
  return clock.until(register.read('k'));
}

/** Reads and swaps until the swap succeeds. */
async function set(process: Process, state: string): Promise<string> {
  const { version } = await read(process);
  const swapped = await write(process, version, state);
  if (swapped === false) throw new Error('another process was first');
  return swapped.version;
}

describe('a swap', () => {
  it('is seen by every later read, and needs no read before the next one', async () => {
    const [one, other] = [open(), open()];
    const version = await set(one, 'a');
    expect((await read(other)).state).toBe('a');
    const kept = await set(other, 'b');
    expect(await write(one, version, 'c')).toBe(false);
    const before = other.links[0]?.sent.prepare;
    expect(await write(other, kept, 'd')).not.toBe(false);
    expect(other.links[0]?.sent.prepare).toBe(before);
    expect((await read(one)).state).toBe('d');
  });

  it('uses a version once, whatever the outcome', async () => {
    const one = open();
    const { version } = await read(one);
    expect(await write(one, version, 'a')).not.toBe(false);
    expect(await write(one, version, 'b')).toBe(false);
    expect((await read(one)).state).toBe('a');
  });

  it('of one of two processes that read the same state fails', async () => {
    const [one, other] = [open(), open()];
    const { version } = await read(one);
    await set(other, 'b');
    expect(await write(one, version, 'a')).toBe(false);
    expect((await read(one)).state).toBe('b');
  });

  it('is completed by another process if a minority accepted it', async () => {
    const [one, other] = [open(), open()];
    const { version } = await read(one);
    for (const link of one.links.slice(1)) link.fate = () => 'lost';
    const writing = write(one, version, 'a').catch((error: unknown) => error);
    await clock.advance(500);
    // the first server accepted it; a majority with this server completes it
    for (const link of other.links.slice(3)) link.fate = () => 'lost';
    expect(await clock.until(other.register.read('k'))).toMatchObject({
      state: 'a',
      settled: false,
    });
    await set(other, 'b');
    for (const link of one.links) link.fate = () => 'arrives';
    await writing;
  });
});

/** The servers that are asked first for the key of these tests. */
const FIRST = [2, 3];

describe('a swap whose outcome is not clear', () => {
  /** The first accept of a process reaches only some servers; the others have promised more. */
  async function interrupted(reached: number[], later: string[]): Promise<[Swapped, Process]> {
    const [one, other] = [open(), open()];
    await set(one, 'base');
    const { version } = await read(one);
    const held: (() => void)[] = [];
    for (const [at, server] of servers.entries()) {
      if (reached.includes(at)) continue;
      const accept = server.accept.bind(server);
      let first = true;
      server.accept = async (key, proposal) => {
        if (first && proposal.value.endsWith('\nmine')) {
          first = false;
          await new Promise<void>((resolve) => held.push(resolve));
        }
        return accept(key, proposal);
      };
    }
    const writing = one.register.swap('k', version, {
      ...{ state: 'mine', forgetAt: clock.wall() * 1000 + 60e6, messages: [], fence: 0 },
    });
    await clock.advance(1);
    for (const state of later) await set(other, state);
    for (const go of held) go();
    return [await clock.until(writing), other];
  }

  it('was made if another process built on it', async () => {
    const [swapped, other] = await interrupted(FIRST, ['theirs']);
    // the other process asked these first, so it saw the change
    expect(swapped).toMatchObject({ version: '' });
    expect((await read(other)).state).toBe('theirs');
  });

  it('needs a read before the next swap, so that it overwrites nothing', async () => {
    const [swapped, other] = await interrupted(FIRST, ['theirs', 'more']);
    expect(swapped).toMatchObject({ version: '' });
    expect((await read(other)).state).toBe('more');
  });

  /** The change of a process reaches only the first server, of which it hears nothing more. */
  async function unheard(
    one: Process,
    version: string,
    ms?: number,
    meanwhile?: () => Promise<unknown>,
  ): Promise<Swapped> {
    for (const link of one.links.slice(1))
      link.fate = (request) => (request === 'accept' ? 'lost' : 'arrives');
    const writing = write(one, version, 'mine', ms);
    await clock.advance(1);
    await meanwhile?.();
    for (const link of one.links) link.fate = () => 'arrives';
    (one.links[0] as Link).fate = () => 'lost';
    return clock.until(writing);
  }

  it('was not made if the state came from elsewhere, and stays so', async () => {
    const [one, other] = [open(), open()];
    await set(one, 'base');
    const { version } = await read(one);
    const swapped = await unheard(one, version);
    (other.links[4] as Link).fate = () => 'lost';
    const { state } = await read(other);
    expect(state).toBe(swapped === false ? 'base' : 'mine');
  });

  // hole 277: the servers without the change forgot after a minute that it was not made
  it.each([false, true])('is not made later (others change the key: %s)', async (isBusy) => {
    const [one, other] = [open(), open()];
    await read(other);
    const { version } = await read(one);
    (other.links[0] as Link).fate = () => 'lost';
    const meanwhile = isBusy ? (): Promise<string> => set(other, 'theirs') : undefined;
    expect(await unheard(one, version, 600_000, meanwhile)).toBe(false);
    await clock.advance(120_000);
    for (const [at, link] of other.links.entries()) {
      link.fate = () => (at < 3 ? 'arrives' : 'lost');
    }
    expect((await read(other)).state).toBe(isBusy ? 'theirs' : '');
  });
});

describe('a swap of a state that only a minority accepted', () => {
  /** Both swaps reach the first server only; a third process continues without them. */
  async function overtaken(later: number, earlier = 1): Promise<Swapped> {
    const [one, other, third] = [open(), open(), open()];
    for (let at = 0; at < earlier; at++) await set(one, 'base');
    const { version } = await read(one);
    for (const link of one.links.slice(1)) link.fate = () => 'lost';
    const first = write(one, version, 'first').catch((error: unknown) => error);
    await clock.advance(1);
    for (const link of one.links) link.fate = () => 'lost';
    for (const link of other.links.slice(3)) link.fate = () => 'lost';
    const seen = await clock.until(other.register.read('k'));
    expect(seen).toMatchObject({ state: 'first', settled: false });
    for (const link of other.links.slice(1)) link.fate = () => 'lost';
    const writing = write(other, seen.version, 'mine');
    await clock.advance(50);
    (third.links[0] as Link).fate = () => 'lost';
    for (let at = 0; at < later; at++) await set(third, `theirs ${at}`);
    for (const link of other.links) link.fate = () => 'arrives';
    await clock.until(Promise.allSettled([writing, first]));
    return writing;
  }

  it('was not made if the others continued from an earlier state', async () => {
    expect(await overtaken(1)).toBe(false);
    expect(await overtaken(10)).toBe(false);
    // the record of the others does not name the first change, but the one before it
    expect(await overtaken(10, 20)).toBe(false);
  });

  it('control: is unknown after more changes than a record names', async () => {
    await expect(overtaken(17)).rejects.toThrow('the outcome of a change is unknown');
  });
});

it('a read that others overtake again and again comes to its turn', async () => {
  const one = open();
  await set(one, 'a');
  let overtaken = 0;
  for (const link of one.links) {
    const prepare = link.prepare.bind(link);
    link.prepare = async (key, ballot, now) => {
      if (overtaken >= 5 * 60) return prepare(key, ballot, now);
      overtaken += 1;
      const promised = `${BigInt(ballot) + 1n}`.padStart(ballot.length, '0');
      return { status: 'no', time: now, promised, kept: false };
    };
  }
  expect((await read(one)).state).toBe('a');
});

describe('servers that are silent', () => {
  it('cost one deadline, and later a request in a second', async () => {
    const one = open();
    await set(one, 'a');
    for (const link of one.links.slice(0, 2)) link.fate = () => 'lost';
    await set(one, 'b');
    await clock.advance(150);
    const sent = (): number => {
      const { prepare, accept } = (one.links[0] as Link).sent;
      return prepare + accept;
    };
    const before = sent();
    for (let at = 0; at < 40; at++) {
      await set(one, `${at}`);
      await clock.advance(50);
    }
    expect(sent() - before).toBeGreaterThan(0);
    expect(sent() - before).toBeLessThan(5);
  });

  it('in a majority make a request fail, with the reason for each', async () => {
    const one = open();
    await set(one, 'a');
    for (const link of one.links.slice(0, 3)) link.fate = () => 'lost';
    await expect(read(one)).rejects.toMatchObject({
      kind: 'unanswered',
      message: expect.stringMatching(/2 of 5 servers agreed, and 3 must: server 1 did not answer/),
    });
    for (const link of one.links) link.fate = () => 'arrives';
    await clock.advance(1000);
    expect((await read(one)).state).toBe('a');
  });

  it('are healed by the next swap', async () => {
    const one = open();
    (one.links[4] as Link).fate = (request) => (request === 'check' ? 'arrives' : 'lost');
    await set(one, 'a');
    (one.links[4] as Link).fate = () => 'arrives';
    // a server that missed a deadline is asked once in a second
    await clock.advance(1000);
    await set(one, 'b');
    const other = open();
    for (const link of other.links.slice(0, 2)) link.fate = () => 'lost';
    expect((await read(other)).state).toBe('b');
  });
});

describe('a message', () => {
  it('is believed when a majority has published it', async () => {
    const [one, other] = [open(), open()];
    const heard: string[] = [];
    const nothing = (): void => undefined;
    const listener = {
      message: (text: string) => void heard.push(text),
      up: nothing,
      down: nothing,
    };
    await clock.until(other.register.listen('c', listener));
    const { version } = await read(one);
    for (const link of one.links.slice(2))
      link.fate = (request) => (request === 'accept' ? 'lost' : 'arrives');
    const messages = [{ channel: 'c', text: 'granted' }];
    const forgetAt = clock.wall() * 1000 + 60e6;
    const writing = one.register.swap('k', version, { state: 'a', forgetAt, fence: 0, messages });
    await clock.advance(50);
    // two of five servers have published it
    expect(heard).toEqual([]);
    // the process that completes the change publishes it again
    (other.links[4] as Link).fate = () => 'lost';
    await set(other, 'b');
    await clock.advance(1);
    expect(heard).toEqual(['granted']);
    for (const link of one.links) link.fate = () => 'arrives';
    await clock.until(writing.catch(() => undefined));
  });
});
