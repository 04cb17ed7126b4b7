/** Waiters of dead processes, on a register that knows which channels are dead. */
import { until } from 'holdfast-testkit';
import { afterEach, expect, it } from 'vitest';
import { Holdfast } from '../../../src/index.js';
import { MemoryRegister, type MessageListener, register } from '../../../src/register.js';

/** Says of chosen channels that they are dead. */
class Knowing extends MemoryRegister {
  readonly channels: string[] = [];
  readonly dead = new Set<string>();
  asked = 0;
  fails = false;

  override listen(
    channel: string,
    listener: MessageListener,
  ): ReturnType<MemoryRegister['listen']> {
    this.channels.push(channel);
    return super.listen(channel, listener);
  }

  override async alive(channels: readonly string[]): Promise<readonly boolean[]> {
    this.asked += 1;
    if (this.fails) throw new Error('not known');
    return channels.map((channel) => !this.dead.has(channel));
  }
}

const made: Holdfast[] = [];
afterEach(async () => {
  for (const one of made.splice(0)) await one.close({ grace: 0 });
});

/** Two processes wait, one behind the other. Resolves to their order after the release. */
async function order(port: Knowing, whenQueued: () => void): Promise<string[]> {
  const [holder, first, second] = ['a', 'b', 'c'].map(() => {
    const one = new Holdfast(register(port));
    made.push(one);
    return one;
  }) as [Holdfast, Holdfast, Holdfast];
  const lease = await holder.mutex('k').acquire();
  const got: string[] = [];
  const work = async (name: string, one: Holdfast): Promise<void> => {
    await one.mutex('k').run(() => void got.push(name));
  };
  const queued = async (count: number): Promise<void> => {
    await until(async () => (await holder.inspect('k'))?.waiterCount === count);
  };
  const works = [work('first', first)];
  await queued(1);
  works.push(work('second', second));
  await queued(2);
  whenQueued();
  await lease.release();
  await Promise.all(works);
  return got;
}

it('are skipped; one that is alive after all gets its turn later', async () => {
  const port = new Knowing();
  const found = await order(port, () => port.dead.add(port.channels[0] as string));
  expect(found).toEqual(['second', 'first']);
});

it.each([false, true])(
  'control: the others are granted in order (alive fails: %s)',
  async (fails) => {
    const port = new Knowing();
    expect(await order(port, () => (port.fails = fails))).toEqual(['first', 'second']);
    expect(port.asked).toBeGreaterThan(0);
  },
);

it('a lock without other processes asks nothing', async () => {
  const port = new Knowing();
  const holdfast = new Holdfast(register(port));
  made.push(holdfast);
  for (let turn = 0; turn < 3; turn++) await (await holdfast.mutex('k').acquire()).release();
  expect(port.asked).toBe(0);
});
