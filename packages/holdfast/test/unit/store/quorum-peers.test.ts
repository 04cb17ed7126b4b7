/** What processes tell each other: hand-overs of a ballot, and commands left to its owner. */
import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { Connections } from '../../../src/store/quorum/connections.js';
import { QuorumRegister } from '../../../src/store/quorum/quorum-register.js';
import type { Errand, Taken } from '../../../src/store/register/peers.js';
import type { Versioned } from '../../../src/store/register/register.js';
import { Link } from '../../support/lossy-link.js';
import { randomOf } from '../../support/seeded-random.js';
import { VirtualClock } from '../../support/virtual-clock.js';

let clock: VirtualClock;
let servers: MemoryAcceptor[];
let one: Process;
let other: Process;

/** A process that listens, and what it heard. */
class Process {
  readonly links: Link[];
  readonly register: QuorumRegister;
  readonly handed: Versioned[] = [];
  readonly asked: Errand[] = [];
  readonly heard: string[] = [];
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
    const message = (text: string): void => void this.heard.push(text);
    await clock.until(this.register.listen(this.channel, { message, up: nothing, down: nothing }));
    return this;
  }

  /** Reads, and swaps; the lock belongs to the process with the channel `successor` then. */
  async set(state: string, successor?: string, version?: string): Promise<string | false> {
    const used = version ?? (await clock.until(this.register.read('k'))).version;
    const forgetAt = clock.wall() * 1000 + 60e6;
    const heir = successor === undefined ? undefined : { channel: successor };
    const change = { state, forgetAt, messages: [], fence: 0, successor: heir };
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

  it('comes with the message of its receiver, however many messages others get', async () => {
    await other.set('theirs');
    const third = await new Process('third', 0.3).listen();
    const { version } = await clock.until(one.register.read('k'));
    const asks = Array.from({ length: 300 }, (_, at) => ({ channel: 'third', text: `ask ${at}` }));
    const messages = [{ channel: 'other', text: 'grant' }, ...asks];
    const forgetAt = clock.wall() * 1000 + 60e6;
    const change = { state: 'mine', forgetAt, messages, fence: 0 };
    const successor = { channel: 'other' };
    await clock.until(one.register.swap('k', version, { ...change, successor }));
    await clock.advance(1);
    expect(other.handed.at(-1)).toMatchObject({ state: 'mine' });
    expect(other.heard).toEqual(['grant']);
    expect(third.heard).toEqual(asks.map(({ text }) => text));
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

  it('is not believed from a client that may publish and subscribe', async () => {
    const heard = await overhear('other');
    await handOver();
    const [before, dropped] = [other.handed.length, other.register.dropped];
    const real = heard.find((text) => text.includes(' =')) as string;
    const [head = '', ...value] = real.split('\n');
    const next = '9'.repeat(16) + '0'.repeat(12);
    const forged = [
      [head, ...value.slice(0, -1), 'forged'].join('\n'),
      real.replace(/ =\d+ /, ` =${next} `),
      real.replace(/^\d+/, '8'.repeat(28)),
    ];
    for (const text of forged) {
      for (const server of servers) server.publish({ channel: 'other', text });
    }
    await clock.advance(1);
    expect(other.handed).toHaveLength(before);
    expect(other.register.dropped).toBeGreaterThan(dropped);
  });
});

/** What a client hears that may subscribe. */
async function overhear(channel: string): Promise<string[]> {
  const heard: string[] = [];
  const nothing = (): void => undefined;
  const message = (text: string): void => void heard.push(text);
  for (const server of servers) {
    await server.subscribe(channel, { message, up: nothing, down: nothing });
  }
  return heard;
}

describe('a command', () => {
  /** Leaves a command to the process that is about to change the key. */
  async function leave(command = '{}'): Promise<{ readonly answer: Promise<string | undefined> }> {
    const read = await clock.until(one.register.readFree('k', [{ command }], false));
    const [answer] = (read as Taken).left as [Promise<string | undefined>];
    return { answer };
  }

  /** Changes the state as the owner, and answers the commands that were left. */
  async function apply(reply: string): Promise<void> {
    const { version } = other.handed.at(-1) as Versioned;
    const forgetAt = clock.wall() * 1000 + 60e6;
    const answers = other.asked.map((errand) => other.register.peers.answerTo(errand, reply));
    const change = { state: 'next', forgetAt, messages: [], fence: 0, answers };
    await clock.until(other.register.swap('k', version, change));
  }

  beforeEach(async () => {
    await other.set('theirs', 'one');
    await one.set('mine', 'other');
  });

  it('that a server may keep without an answer is in doubt: it may be applied twice', async () => {
    const { connections } = one.register;
    const before = connections.name;
    await leave();
    expect(connections.name).toBe(before);
    // the first server for this key
    (one.links[2] as Link).fate = () => 'unanswered';
    const read = await clock.until(one.register.readFree('k', [{ command: '{}' }], false));
    expect(read.inDoubt).toBe(true);
    expect(connections.name).not.toBe(before);
  });

  it('that a busy server keeps is left, however late its answer comes', async () => {
    const first = servers[2] as MemoryAcceptor;
    const prepare = first.prepare.bind(first);
    first.prepare = async (...asked) => {
      const vote = await prepare(...asked);
      await new Promise<void>((resolve) => void clock.after(150, resolve));
      return vote;
    };
    const reading = one.register.readFree('k', [{ command: '{}' }], false);
    await clock.advance(2);
    // it answers other requests meanwhile
    await clock.until(one.register.look('k'));
    const read = await clock.until(reading);
    expect((read as Taken).left).toHaveLength(1);
    expect(read.inDoubt).toBe(false);
  });

  it('that a slow server keeps is left if it answers while the ballot stays', async () => {
    const first = servers[2] as MemoryAcceptor;
    const prepare = first.prepare.bind(first);
    first.prepare = async (...asked) => {
      const vote = await prepare(...asked);
      // later than the time limit of a server
      await new Promise<void>((resolve) => void clock.after(150, resolve));
      return vote;
    };
    const { connections } = one.register;
    const before = connections.name;
    const read = await clock.until(one.register.readFree('k', [{ command: '{}' }], false));
    const [answer] = (read as Taken).left as [Promise<string | undefined>];
    await clock.advance(200);
    expect(connections.name).toBe(before);
    await apply('done');
    expect(await clock.until(answer)).toBe('done');
  });

  it('may be sent twice by a client that connects again', async () => {
    const { connections } = one.register;
    const before = connections.name;
    (one.links[0] as Link).line = 2;
    const after = connections.name;
    expect(after).not.toBe(before);
    expect(connections.name).toBe(after);
    expect(new Connections(servers).name).toBeUndefined();
  });

  it('that is left to the owner is collected, and answered with its next change', async () => {
    const { answer } = await leave();
    expect(other.asked).toHaveLength(0);
    await clock.advance(20);
    expect(other.asked).toHaveLength(1);
    await apply('done');
    expect(await clock.until(answer)).toBe('done');
  });

  it('that is left comes with the next vote of an owner that changes the key', async () => {
    const { version } = other.handed.at(-1) as Versioned;
    await leave();
    expect(await other.set('next', 'other', version)).not.toBe(false);
    expect(other.asked).toHaveLength(1);
    await clock.advance(50);
    expect(other.asked).toHaveLength(1);
  });

  it('that owners pass on is collected at once when it is old', async () => {
    await leave();
    let [from, to] = [other, one];
    for (const isOld of [false, false, false, true]) {
      expect([...one.asked, ...other.asked]).toHaveLength(0);
      await clock.advance(5);
      const { version } = from.handed.at(-1) as Versioned;
      await from.set('next', to.channel, version);
      expect(to.asked).toHaveLength(isOld ? 1 : 0);
      [from, to] = [to, from];
    }
  });

  it('is not left if the owner has not changed the key for a while', async () => {
    await clock.advance(150);
    const read = await clock.until(one.register.readFree('k', [{ command: '{}' }], false));
    expect(read).toMatchObject({ state: 'mine' });
    expect(other.asked).toHaveLength(0);
  });

  it('costs one request while the key stays busy', async () => {
    await leave();
    const before = one.prepares;
    await leave();
    expect(one.prepares).toBe(before + 1);
  });

  it('of the process that has the ballot asks no server before the others', async () => {
    await clock.until(other.register.readFree('k', [], true));
    const before = other.prepares;
    expect(await clock.until(other.register.readFree('k', [], true))).toMatchObject({
      state: 'mine',
    });
    expect(other.prepares).toBe(before + 3);
  });

  it('that is left does not take the ballot of the owner', async () => {
    const { version } = other.handed.at(-1) as Versioned;
    for (let count = 0; count < 10; count++) await leave();
    expect(await other.set('next', 'other', version)).not.toBe(false);
  });

  it('goes to the process that reads the key next, if the owner has ended', async () => {
    const third = await new Process('third', 0.3).listen();
    await clock.until(third.register.look('k'));
    for (const server of servers) server.collect = () => new Promise(() => undefined);
    await leave();
    await clock.advance(150);
    await clock.until(third.register.readFree('k', [], false));
    expect(third.asked).toHaveLength(1);
    expect(other.asked).toHaveLength(0);
  });

  it('without an answer is returned when the owner may not apply it any more', async () => {
    const { answer } = await leave();
    await clock.advance(20);
    const { until } = other.asked[0] as Errand;
    expect(await clock.until(answer)).toBeUndefined();
    expect(one.register.peers.latest()).toBeGreaterThan(until);
  });

  it('is not published, so that its secret and its token stay secret', async () => {
    const [toOne, toOther] = [await overhear('one'), await overhear('other')];
    await leave('{"token":"secret"}');
    await clock.advance(20);
    expect(other.asked).toHaveLength(1);
    expect([...toOne, ...toOther].join()).not.toContain('secret');
    expect(toOther.filter((text) => text.startsWith('>'))).toHaveLength(1);
  });

  it('is answered by too few servers if a version tells that the change is made', async () => {
    const late = new Process('late', 0.3);
    // its channel is open: three of five servers have it
    for (const link of late.links.slice(3)) link.subscribe = () => new Promise(() => undefined);
    await late.listen();
    await clock.until(late.register.look('k'));
    late.register.peers.expects('k', 'token');
    const read = await clock.until(late.register.readFree('k', [{ command: '{}' }], false));
    const [answer] = (read as Taken).left as [Promise<string | undefined>];
    let told: string | undefined;
    void answer.then((text) => (told = text));
    await clock.advance(20);
    for (const link of other.links.slice(0, 2)) link.fate = () => 'lost';
    await apply('done');
    await clock.advance(5);
    expect(told).toBeUndefined();
    for (const link of other.links) link.fate = () => 'arrives';
    const { version } = await clock.until(other.register.read('k'));
    const forgetAt = clock.wall() * 1000 + 60e6;
    const change = { state: 'later', forgetAt, messages: [], fence: 0 };
    const successor = { channel: 'late', token: 'token' };
    await clock.until(other.register.swap('k', version, { ...change, successor }));
    await clock.advance(1);
    expect(late.handed).toHaveLength(1);
    expect(told).toBe('done');
  });

  it('is answered or collected only with a proof', async () => {
    const [toOne, toOther] = [await overhear('one'), await overhear('other')];
    const { answer } = await leave();
    let settled = false;
    void answer.then(() => (settled = true));
    const told = toOther.find((text) => text.startsWith('>')) as string;
    const ballot = '8'.repeat(28);
    const reply = '{"status":"granted","left":1e15}';
    await clock.advance(20);
    const errand = other.asked[0] as Errand;
    const forged: [string, string][] = [
      ['one', `${ballot} <${errand.number} ${reply}`],
      ['one', `${ballot} <${errand.number} ${'A'.repeat(22)} ${reply}`],
      ['other', told.replace(/^>./, '>x')],
      ['other', told.replace(/k$/, 'another key')],
    ];
    const before = one.register.dropped + other.register.dropped;
    for (const [channel, text] of forged) {
      for (const server of servers) server.publish({ channel, text });
    }
    await clock.advance(50);
    expect(settled).toBe(false);
    expect(other.asked).toHaveLength(1);
    expect(one.register.dropped + other.register.dropped).toBeGreaterThan(before);
    expect(toOne).toHaveLength(2 * servers.length);
    await clock.until(answer);
  });
});

it('no message ends a process', async () => {
  const channels = ['one', 'other'];
  const heard = (await Promise.all(channels.map(overhear))).flat();
  await other.set('theirs', 'one');
  await one.set('mine', 'other');
  await clock.until(one.register.readFree('k', [{ command: '{}' }], false));
  await clock.advance(1);
  const random = randomOf(11);
  const whole = (below: number): number => Math.floor(random() * below);
  const parts = ['>', '<', '=', ' ', '\n', '{', '[', '"', '9', 'g ', 'o ', 'r ', '\u0000', 'NaN'];
  for (let round = 0; round < 3000; round++) {
    const real = heard.length === 0 ? '' : (heard[whole(heard.length)] as string);
    const at = whole(real.length + 1);
    const text = real.slice(0, at) + parts[whole(parts.length)] + real.slice(at + whole(20));
    for (const server of servers) {
      server.publish({ channel: channels[whole(2)] as string, text });
    }
    heard.length = Math.min(heard.length, 50);
  }
  await clock.advance(200);
  expect(one.register.dropped + other.register.dropped).toBeGreaterThan(1000);
  expect((await clock.until(one.register.read('k'))).state).toBe('mine');
});
