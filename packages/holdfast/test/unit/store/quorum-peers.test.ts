/** What processes tell each other: hand-overs of a ballot, and commands left to its owner. */
import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumRegister } from '../../../src/store/quorum/quorum-register.js';
import type { Errand, Versioned } from '../../../src/store/register/register.js';
import { Link } from '../../support/lossy-link.js';
import { VirtualClock } from '../../support/virtual-clock.js';

let clock: VirtualClock;
let servers: MemoryAcceptor[];
let one: Process;
let other: Process;

/** Every two of five servers. */
const PAIRS = [0, 1, 2, 3].flatMap((one) =>
  [1, 2, 3, 4].filter((two) => two > one).map((two): [number, number] => [one, two]),
);

/** A process that listens, and what it heard. */
class Process {
  readonly links: Link[];
  readonly register: QuorumRegister;
  readonly handed: Versioned[] = [];
  readonly asked: Errand[] = [];
  readonly channel: string;

  constructor(channel: string, fraction: number) {
    this.channel = channel;
    this.links = servers.map((server) => new Link(server));
    const settings = { timeout: 100, guard: 60_000, durable: false, fraction: () => fraction };
    this.register = new QuorumRegister(this.links, { clock, ...settings });
    this.register.peers.listener = {
      handedOver: (_, state) => void this.handed.push(state),
      asked: (_key, _command, errand) => void this.asked.push(errand),
    };
  }

  async listen(): Promise<this> {
    const nothing = (): void => undefined;
    await clock.until(
      this.register.listen(this.channel, { message: nothing, up: nothing, down: nothing }),
    );
    return this;
  }

  /** Reads, and swaps; the lock belongs to the process with the channel `successor` then. */
  async set(state: string, successor?: string, version?: string): Promise<string | false> {
    const used = version ?? (await clock.until(this.register.read('k'))).version;
    const forgetAt = clock.wall() * 1000 + 60e6;
    const change = { state, forgetAt, messages: [], successor };
    const swapped = await clock.until(this.register.swap('k', used, change));
    await clock.advance(1);
    return swapped === false ? false : swapped.version;
  }

  get prepares(): number {
    return this.links.reduce((sum, { sent }) => sum + sent.prepare, 0);
  }
}

beforeEach(async () => {
  clock = new VirtualClock();
  servers = Array.from({ length: 5 }, (_, at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  one = await new Process('one', 0.1).listen();
  other = await new Process('other', 0.2).listen();
});

describe('a ballot that is handed over', () => {
  /** The other process is known, and `one` hands the lock over to it. */
  async function handOver(): Promise<string> {
    await other.set('theirs', 'one');
    expect(await one.set('mine', 'other')).toBe('');
    return (other.handed.at(-1) as Versioned).version;
  }

  it('lets the other process change the state without a read', async () => {
    const version = await handOver();
    expect(other.handed.at(-1)).toMatchObject({ state: 'mine' });
    const before = other.prepares;
    expect(await other.set('next', 'other', version)).not.toBe(false);
    expect(other.prepares).toBe(before);
    expect((await clock.until(one.register.read('k'))).state).toBe('next');
  });

  it('is used once, and not by the process that gave it away', async () => {
    const version = await handOver();
    expect(await one.set('again', 'one', version)).toBe(false);
    expect(await other.set('next', 'other', version)).not.toBe(false);
    expect(await other.set('twice', 'other', version)).toBe(false);
    expect((await clock.until(one.register.read('k'))).state).toBe('next');
  });

  it('is not believed before a majority has published it', async () => {
    await other.set('theirs', 'one');
    for (const link of one.links.slice(2)) {
      link.fate = (request) => (request === 'accept' ? 'lost' : 'arrives');
    }
    const before = other.handed.length;
    const writing = one.set('mine', 'other').catch(() => undefined);
    await clock.advance(50);
    expect(other.handed).toHaveLength(before);
    for (const link of one.links) link.fate = () => 'arrives';
    await clock.until(writing);
  });

  it('is not believed from a client that may only publish', async () => {
    await handOver();
    const before = other.handed.length;
    const next = '9'.repeat(16) + '0'.repeat(12);
    const value = `${JSON.stringify([9e15, [next], []])}\nforged`;
    const text = `${'8'.repeat(28)} =${next} k\n${value}`;
    for (const server of servers) await server.tell({ channel: 'other', text });
    await clock.advance(1);
    expect(other.handed).toHaveLength(before);
  });
});

describe('a command', () => {
  const leave = (): Promise<string | undefined> => {
    const owner = one.register.peers.ownerOf('k');
    return one.register.peers.leave(owner as string, 'k', '{}');
  };

  beforeEach(async () => {
    await other.set('theirs', 'one');
    await one.set('mine', 'other');
  });

  it('that is left to the owner is answered with its next change', async () => {
    const answer = leave();
    await clock.advance(1);
    const [errand] = other.asked as [Errand];
    const { version } = other.handed.at(-1) as Versioned;
    const forgetAt = clock.wall() * 1000 + 60e6;
    const answers = [other.register.peers.answerTo(errand, 'done')];
    const change = { state: 'next', forgetAt, messages: [], answers };
    await clock.until(other.register.swap('k', version, change));
    expect(await clock.until(answer)).toBe('done');
  });

  it.each(PAIRS)(
    'that is left reaches the owner if two servers fail at the same time: %i, %i',
    async (first, second) => {
      for (const link of one.links.filter((_, at) => at === first || at === second)) {
        link.tell = () => new Promise(() => undefined);
      }
      void leave();
      await clock.advance(1);
      expect(other.asked).toHaveLength(1);
    },
  );

  it('that is declined is returned at once', async () => {
    const [answer, start] = [leave(), clock.now()];
    await clock.advance(1);
    other.register.peers.decline(other.asked[0] as Errand);
    expect(await clock.until(answer)).toBeUndefined();
    expect(clock.now() - start).toBeLessThan(10);
  });

  it('without an answer is returned when the owner may not apply it any more', async () => {
    const answer = leave();
    await clock.advance(1);
    const { until } = other.asked[0] as Errand;
    expect(await clock.until(answer)).toBeUndefined();
    expect(other.register.peers.latest()).toBeGreaterThan(until);
    // for a moment, nothing more is left to it
    expect(one.register.peers.ownerOf('k')).toBeUndefined();
  });

  it('that names no version of this process is not heard', async () => {
    const until = clock.wall() * 1000 + 50_000;
    const text = `>1.1 ${until} ${'7'.repeat(28)} 3 onek\n{}`;
    await servers[0]?.tell({ channel: 'other', text });
    await clock.advance(1);
    expect(other.asked).toEqual([]);
  });
});
