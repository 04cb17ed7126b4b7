/**
 * Waiters of a quorum whose processes hear no message any more, in virtual time: those that died do
 * not delay the queue, and one that only lost its subscriptions is never overlapped.
 */
import { describe, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../src/index.js';
import type { Acceptor, Proposal, Vote } from '../../src/store/quorum/acceptor.js';
import { MemoryAcceptor } from '../../src/store/quorum/memory-acceptor.js';
import { QuorumStore } from '../../src/store/quorum/quorum-store.js';
import { later } from '../suites/helpers.js';
import { randomOf } from '../support/seeded-random.js';
import { VirtualClock } from '../support/virtual-clock.js';

const CLAIM_MS = 1000;
/** Of virtual time; and so many of them without a timer are the turns of the event loop. */
const STEP_MS = 0.1;
const TURNS = 10;
const LATE_MS = 2.5;
const [FASTEST, SLOWEST] = [0.1, 0.6];

type After = (callback: () => void, more?: number) => void;

/** The connection of one process to one server. */
class Link implements Acceptor {
  readonly label = 'link';
  readonly #to: MemoryAcceptor;
  readonly #after: After;
  readonly #silent: boolean;
  readonly #open = new Set<{ close(): Promise<void> }>();
  dead = false;
  onPoll: () => void = () => undefined;
  /** Further delays of a proposal on the way there, and of answers on the way back, in ms. */
  there: (proposal: Proposal) => number = () => 0;
  back = 0;

  /** @param silent the server does not tell which channels are deaf */
  constructor(to: MemoryAcceptor, after: After, silent: boolean) {
    this.#to = to;
    this.#after = after;
    this.#silent = silent;
  }

  prepare: Acceptor['prepare'] = (...args) => {
    if (args[3]?.left?.includes('poll') === true) this.onPoll();
    return this.#send(() => this.#to.prepare(...args));
  };
  look: Acceptor['look'] = (...args) => this.#send(() => this.#to.look(...args));
  check: Acceptor['check'] = (...args) => this.#send(() => this.#to.check(...args));
  collect: Acceptor['collect'] = (...args) => this.#send(() => this.#to.collect(...args));
  keys: Acceptor['keys'] = (prefix) => this.#to.keys(prefix);

  accept: Acceptor['accept'] = async (key, proposal) => {
    const send = (): Promise<Vote> => this.#to.accept(key, proposal);
    const vote = await this.#send(send, this.there(proposal));
    return vote.status === 'yes' && this.#silent ? { ...vote, deaf: [] } : vote;
  };

  subscribe: Acceptor['subscribe'] = async (channel, listener) => {
    const message = (text: string): void => this.#after(() => listener.message(text));
    const opened = await this.#to.subscribe(channel, { ...listener, message });
    this.#open.add(opened);
    return opened;
  };

  deafen(): void {
    for (const one of this.#open) void one.close();
  }

  #send<T>(send: () => Promise<T>, there = 0): Promise<T> {
    return new Promise((resolve) => {
      if (this.dead) return;
      const answered = (answer: T): void => this.#after(() => resolve(answer), this.back);
      this.#after(() => void send().then(answered), there);
    });
  }
}

interface Member {
  readonly holdfast: Holdfast;
  readonly links: readonly Link[];
}

class World {
  readonly clock = new VirtualClock();
  readonly #random: () => number;
  readonly #silent: boolean;
  readonly #servers: readonly MemoryAcceptor[];
  #count = 0;

  constructor({ seed = 1, silent = false, servers = 3 } = {}) {
    this.#random = randomOf(seed);
    this.#silent = silent;
    this.#servers = Array.from({ length: servers }, (_, at) => {
      return new MemoryAcceptor(`s${at}`, this.clock, 3_600_000);
    });
  }

  async join(): Promise<Member> {
    const { clock } = this;
    const name = `p${(this.#count += 1)}`;
    const after: After = (callback, more = 0) => {
      const delay = FASTEST + this.#random() * (SLOWEST - FASTEST);
      clock.after(delay + more, callback);
    };
    const links = this.#servers.map((server) => new Link(server, after, this.#silent));
    const parts = { timeout: 200, guard: 0, durable: true, clock, fraction: this.#random };
    const store = new QuorumStore({ ...parts, acceptors: () => links });
    let draws = 0;
    const secret = (): string => `${name}-${(draws += 1)}`;
    const randomSource = { id: () => name, fraction: this.#random, secret };
    const terms = { ttl: 30_000, claimWindow: CLAIM_MS, clock, randomSource };
    const holdfast = new Holdfast(store, terms);
    const warm = holdfast.warmUp();
    await clock.advance(50);
    await warm;
    return { holdfast, links };
  }

  /**
   * A short step at a time: a grant is reported some turns of the event loop later. Time
   * without timers is one step after them.
   */
  async pass(ms: number): Promise<void> {
    const { clock } = this;
    const end = clock.now() + ms;
    for (let idle = 0; clock.now() < end; idle += 1) {
      const due = Math.min(clock.nextAt, end) - clock.now();
      const skips = idle >= TURNS && due > STEP_MS;
      if (skips || due <= STEP_MS) idle = -1;
      await clock.advance(skips ? due : STEP_MS);
    }
  }
}

/** The time from the release of a lease until the waiter behind `dead` waiters has the lock. */
async function delayOf(terms: {
  dead: number;
  each?: number;
  silent?: boolean;
  servers?: number;
}): Promise<number> {
  const { dead, each = 1 } = terms;
  const world = new World(terms);
  const [first, last] = [await world.join(), await world.join()];
  const held = first.holdfast.mutex('k').acquire();
  await world.pass(20);
  const dying: Member[] = [];
  for (let count = 0; count < dead; count++) {
    const one = await world.join();
    dying.push(one);
    for (let n = 0; n < each; n++) void later(one.holdfast.mutex('k').acquire());
    await world.pass(20);
  }
  let lease: Lease | undefined;
  void last.holdfast
    .mutex('k')
    .acquire()
    .then((got) => (lease = got));
  await world.pass(20);
  for (const link of dying.flatMap(({ links }) => links)) {
    link.dead = true;
    link.deafen();
  }
  const start = world.clock.now();
  void (await held).release();
  while (lease === undefined) await world.pass(1);
  return world.clock.now() - start;
}

describe('waiters of a quorum whose processes died', () => {
  it.each([3, 5])('cost some round trips each (servers: %i)', async (servers) => {
    expect(await delayOf({ dead: 10, servers })).toBeLessThan(100);
  });

  it('cost as much if they are waiters of one process', async () => {
    expect(await delayOf({ dead: 1, each: 5 })).toBeLessThan(50);
  });

  it('control: cost a claim window each if the servers do not tell it', async () => {
    expect(await delayOf({ dead: 3, silent: true })).toBeGreaterThan(2 * CLAIM_MS);
  });
});

interface Times {
  readonly seed: number;
  /** When the third process asks and the first one releases, in ms after the poll. */
  readonly asks: number;
  readonly leaves: number;
  /** The servers at which the waiter is subscribed. */
  readonly hears?: number;
  /** The change that ends the grant is late at all servers but one. */
  readonly late?: boolean;
}

/** By seed. */
const polls = new Map<number, number>();

/** The time of the waiter's first poll. */
async function pollOf(seed: number): Promise<number> {
  const known = polls.get(seed);
  if (known !== undefined) return known;
  const world = new World({ seed });
  const [first, waiter] = [await world.join(), await world.join(), await world.join()];
  void first.holdfast.mutex('k').acquire();
  await world.pass(20);
  void later(waiter.holdfast.mutex('k').acquire());
  let at = 0;
  for (const link of waiter.links) link.onPoll = () => (at ||= world.clock.now());
  while (at === 0) await world.pass(1);
  polls.set(seed, at);
  return at;
}

/** A waiter that loses subscriptions, and polls when it is granted. Throws if two hold at once. */
async function race({ seed, asks, leaves, hears = 0, late = false }: Times): Promise<void> {
  const poll = await pollOf(seed);
  const world = new World({ seed });
  const members = [await world.join(), await world.join(), await world.join()];
  const [first, waiter, last] = members as [Member, Member, Member];
  const held = first.holdfast.mutex('k').acquire();
  await world.pass(20);
  let holders = 1;
  const leave = (lease: Lease): void => {
    expect(lease.held).toBe(true);
    holders -= 1;
    void lease.release();
  };
  const use = async (one: Member): Promise<void> => {
    const lease = await one.holdfast.mutex('k').acquire();
    expect((holders += 1)).toBe(1);
    await new Promise<void>((resolve) => void world.clock.after(7, resolve));
    leave(lease);
  };
  const ends = [use(waiter)];
  await world.pass(20);
  for (const link of waiter.links.slice(0, 3 - hears)) link.deafen();
  for (const link of first.links.filter((_, at) => late && at !== 1)) {
    link.there = ({ handOver }) => (handOver?.channel.endsWith('p3') === true ? LATE_MS : 0);
  }
  const steps = [
    [asks, () => void ends.push(use(last))],
    [leaves, async () => leave(await held)],
  ] as const;
  for (const [at, step] of [...steps].sort(([one], [other]) => one - other)) {
    await world.pass(poll + at - world.clock.now());
    await step();
  }
  let isDone = false;
  const done = Promise.all(ends).then(() => (isDone = true));
  while (!isDone && world.clock.now() < poll + 10 * CLAIM_MS) await world.pass(5);
  expect(isDone).toBe(true);
  await done;
}

describe('a waiter that hears no message is never overlapped', () => {
  const seeds = Array.from({ length: 60 }, (_, at) => at + 1);

  it('while it asks at the moment of its grant', async () => {
    for (const seed of seeds) await race({ seed, asks: -900, leaves: (seed % 30) / 10 - 1.5 });
  });

  it('while one server has accepted the change that ends its grant', async () => {
    for (const seed of seeds) {
      await race({ seed, asks: -900, leaves: -(seed % 30) / 10, late: true });
    }
  });

  it('while a majority of the servers has its subscription', async () => {
    for (const seed of seeds) await race({ seed, asks: -900, leaves: -500, hears: 2 });
  });
});
