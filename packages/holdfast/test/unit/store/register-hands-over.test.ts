/** A register whose messages bring the new state: the next holder needs no read. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Command, Reply } from '../../../src/engine/commands.js';
import { MemoryRegister } from '../../../src/store/register/memory-register.js';
import type {
  Change,
  HandedOver,
  Swapped,
  Versioned,
} from '../../../src/store/register/register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { asking } from '../../support/crowds.js';
import { VirtualClock } from '../../support/virtual-clock.js';

type Receive = (key: string, state: HandedOver) => void;

/** Keeps what a message would bring, with its channel. */
class Bringing extends MemoryRegister {
  reads = 0;
  readonly swaps: string[] = [];
  readonly receivers = new Set<Receive>();
  readonly brought: [channel: string, key: string, state: HandedOver][] = [];

  override read(key: string): Promise<Versioned> {
    this.reads += 1;
    return super.read(key);
  }

  override async swap(key: string, version: string, change: Change): Promise<Swapped> {
    this.swaps.push(version);
    const swapped = await super.swap(key, version, change);
    if (swapped !== false && change.nextChannel !== undefined) {
      const { state } = change;
      this.brought.push([change.nextChannel, key, { state, version: swapped.version }]);
    }
    return swapped;
  }

  override async alive(channels: readonly string[]): Promise<readonly boolean[]> {
    return channels.map(() => true);
  }

  handsOver(receive: Receive): () => void {
    this.receivers.add(receive);
    return () => void this.receivers.delete(receive);
  }

  /** All instances get what the last message brings. */
  deliver(change: Partial<HandedOver> = {}): void {
    const [, key, state] = this.brought.at(-1) as [string, string, HandedOver];
    for (const receive of this.receivers) receive(key, { ...state, ...change });
  }
}

const mutex = { key: 'k', capacity: 1, retention: 60_000, ttl: 20_000, claim: 2000 };
const release = (id: string): Command => ({ op: 'release', key: 'k', id, retention: 60_000 });
const renew = (id: string): Command => {
  return { op: 'renew', key: 'k', id, ttl: 20_000, retention: 60_000 };
};

let clock: VirtualClock;
let register: Bringing;
let one: RegisterStore;
let other: RegisterStore;

async function answers(store: RegisterStore, ...commands: Command[]): Promise<Reply[]> {
  return clock.until(Promise.all(store.execute(commands)));
}

/** `one` has held the lock, and `other` gets it now. */
beforeEach(async () => {
  clock = new VirtualClock();
  register = new Bringing(clock);
  [one, other] = [0, 1].map(() => new RegisterStore(register, { clock })) as [
    RegisterStore,
    RegisterStore,
  ];
  one.use();
  other.use();
  await answers(one, asking('a', mutex));
  await answers(other, asking('b', { ...mutex, channel: 'c', token: 't' }));
  await clock.advance(10);
  await answers(one, release('a'));
  register.reads = 0;
});

describe('the next holder', () => {
  it('is named by its channel, and needs no read', async () => {
    expect(register.brought.map(([channel]) => channel)).toEqual(['c']);
    register.deliver();
    const [renewed] = await answers(other, renew('b'));
    expect(renewed).toMatchObject({ status: 'renewed' });
    expect(register.reads).toBe(0);
    const { left } = renewed as { left: number };
    expect(left).toBeGreaterThan(19_990_000);
    expect(left).toBeLessThanOrEqual(20_000_000);
  });

  it('control: without the message it reads', async () => {
    expect(await answers(other, renew('b'))).toMatchObject([{ status: 'renewed' }]);
    expect(register.reads).toBe(1);
  });

  it('is not named if nothing is granted by a message', async () => {
    register.brought.length = 0;
    await answers(other, renew('b'));
    await answers(other, release('b'));
    await answers(one, asking('d', mutex));
    expect(register.brought).toEqual([]);
  });

  it('reads if the state is that of another version, and gets the right answer', async () => {
    register.deliver({ version: '4711' });
    expect(await answers(other, renew('b'))).toMatchObject([{ status: 'renewed' }]);
    expect(register.reads).toBe(1);
  });

  it('reads if the text is unreadable', async () => {
    register.deliver({ state: '5 9999999999999999 {' });
    expect(await answers(other, renew('b'))).toMatchObject([{ status: 'renewed' }]);
    expect(register.reads).toBe(1);
  });

  it('reads if it has not heard of the clock for five seconds', async () => {
    await clock.advance(5000);
    register.deliver();
    await answers(other, renew('b'));
    expect(register.reads).toBe(1);
  });
});

it('a message that comes twice or late is not used again', async () => {
  register.deliver();
  await answers(other, renew('b'));
  register.deliver();
  register.swaps.length = 0;
  await answers(other, release('b'));
  register.deliver();
  await answers(other, asking('e', mutex));
  expect(register.reads).toBe(0);
  // no version is used for two swaps
  expect(new Set(register.swaps).size).toBe(register.swaps.length);
  const used = (register.brought[0] as [string, string, HandedOver])[2].version;
  expect(register.swaps).not.toContain(used);
});

it('a store receives until the last instance on it has closed', async () => {
  one.use();
  await one.dispose();
  expect(register.receivers.size).toBe(2);
  await one.dispose();
  await other.dispose();
  expect(register.receivers.size).toBe(0);
});
