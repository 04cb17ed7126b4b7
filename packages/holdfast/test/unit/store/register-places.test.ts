/** A task that waited in its process gets no place in the queue before that of its arrival. */
import { describe, expect, it } from 'vitest';
import { MemoryRegister } from '../../../src/store/register/memory-register.js';
import type { Change, Swapped } from '../../../src/store/register/register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import type { Command, Granted, InspectReply, Reply } from '../../../src/engine/commands.js';
import { asking } from '../../support/crowds.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** Answers a swap after a delay. */
class Slow extends MemoryRegister {
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    super(clock);
    this.#clock = clock;
  }

  override async swap(key: string, version: string, change: Change): Promise<Swapped> {
    const swapped = await super.swap(key, version, change);
    await new Promise<void>((resolve) => void this.#clock.after(40, resolve));
    return swapped;
  }
}

const mutex = { key: 'k', capacity: 1, retention: 60_000, ttl: 20_000, claim: 2000 };

interface Times {
  /** When a fair waiter of another process comes, in ms. */
  readonly fair: number;
  /** When the task comes, and the root of its process is renewed. */
  readonly task: number;
  /** When that root ends. */
  readonly turn: number;
}

/** Who holds after the root: `fair` or `task`. */
async function nextOf(
  makeRegister: (clock: VirtualClock) => MemoryRegister,
  times: Times,
): Promise<string[]> {
  const clock = new VirtualClock();
  const register = makeRegister(clock);
  const [one, other] = [0, 1].map(() => new RegisterStore(register, { clock })) as [
    RegisterStore,
    RegisterStore,
  ];
  const ask = async (store: RegisterStore, command: Command): Promise<Reply> => {
    const [reply] = await clock.until(Promise.all(store.execute([command])));
    return reply as Reply;
  };
  const root = await ask(one, asking('root', mutex));
  const { fence } = root as Granted;
  const began = clock.now();
  const steps: Record<keyof Times, () => Promise<unknown>> = {
    fair: () => ask(other, asking('fair', { ...mutex, fair: true })),
    // its state is kept
    task: () => ask(one, { op: 'renew', key: 'k', id: 'root', ttl: 20_000, retention: 60_000 }),
    turn: () => {
      const waited = Math.floor(clock.now() - began - times.task);
      return ask(one, {
        ...{ op: 'turn', key: 'k', id: 'root', fence, used: fence, again: 'task' },
        ...{ ttl: 20_000, claim: 2000, handOffs: 0, channel: '', token: '', waited, tasks: 1 },
        ...{ patience: 1e6, retention: 60_000, meta: '' },
      });
    },
  };
  const inOrder = (Object.keys(times) as (keyof Times)[]).sort((a, b) => times[a] - times[b]);
  const answers: Promise<unknown>[] = [];
  for (const name of inOrder) {
    await clock.advance(began + times[name] - clock.now());
    answers.push(steps[name]());
  }
  await clock.until(Promise.all(answers));
  const { holders } = (await ask(other, { op: 'inspect', key: 'k', limit: 9 })) as InspectReply;
  return holders.map(({ id }) => id);
}

const slow = (clock: VirtualClock): MemoryRegister => new Slow(clock);
const fast = (clock: VirtualClock): MemoryRegister => new MemoryRegister(clock);

describe('the place of a task that waited in its process', () => {
  it('is behind a waiter that came before it, if answers are slow', async () => {
    expect(await nextOf(slow, { fair: 90, task: 100, turn: 190 })).toEqual(['fair']);
  });

  it('is behind a waiter that came before it, if the state was kept for long', async () => {
    expect(await nextOf(fast, { fair: 50, task: 60, turn: 4000 })).toEqual(['fair']);
  });

  it('is before a waiter that came later', async () => {
    expect(await nextOf(slow, { task: 50, fair: 200, turn: 300 })).toEqual(['task']);
    expect(await nextOf(fast, { task: 50, fair: 60, turn: 4000 })).toEqual(['task']);
  });
});
