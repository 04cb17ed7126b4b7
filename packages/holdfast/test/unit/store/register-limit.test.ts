/** A call of a register that does not settle: it ends after the time limit of the store. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../../src/index.js';
import {
  type Change,
  MemoryRegister,
  type Register,
  register,
  type Swapped,
} from '../../../src/register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { failure, later } from '../../suites/helpers.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const TIMEOUT = 3000;
const OPTIONS = { requestTimeout: 1000, unreachableAfter: 2000, claimWindow: 500 };

/** Answers come when they are let go. */
class Silent extends MemoryRegister {
  silent: 'swap' | 'read' | undefined;
  readonly kept: (() => void)[] = [];

  override async read(key: string): ReturnType<MemoryRegister['read']> {
    const read = await super.read(key);
    if (this.silent === 'read') await new Promise<void>((resolve) => this.kept.push(resolve));
    return read;
  }

  override async swap(key: string, version: string, change: Change): Promise<Swapped> {
    const swapped = await super.swap(key, version, change);
    if (this.silent === 'swap') await new Promise<void>((resolve) => this.kept.push(resolve));
    return swapped;
  }
}

let clock: VirtualClock;
let port: Silent;
const instanceOn = (timeout?: number): Holdfast =>
  new Holdfast(new RegisterStore(port, { clock, timeout }), { clock, ...OPTIONS });

beforeEach(() => {
  clock = new VirtualClock();
  port = new Silent(clock);
});

describe.each(['read', 'swap'] as const)('a %s without an answer', (call) => {
  it('is an outage, and ends: the next call of the key works', async () => {
    const holdfast = instanceOn(TIMEOUT);
    port.silent = call;
    const acquiring = later(holdfast.mutex('k').acquire());
    await clock.advance(2500);
    await failure(acquiring, 'HOLDFAST_UNREACHABLE');
    port.silent = undefined;
    await clock.advance(4000);
    const lease = await clock.until(holdfast.mutex('k').tryAcquire());
    expect(lease?.held).toBe(true);
  });

  it('negative control: without a limit it blocks its key', async () => {
    const holdfast = instanceOn();
    port.silent = call;
    const acquiring = later(holdfast.mutex('k').acquire());
    await clock.advance(2500);
    await failure(acquiring, 'HOLDFAST_UNREACHABLE');
    port.silent = undefined;
    await clock.advance(60_000);
    const again = later(holdfast.mutex('k').tryAcquire());
    await clock.advance(3000);
    await failure(again, 'HOLDFAST_UNREACHABLE');
  });

  it('is not believed when it comes late', async () => {
    const holdfast = instanceOn(TIMEOUT);
    const other = new Holdfast(new RegisterStore(port, { clock }), { clock, ...OPTIONS });
    port.silent = call;
    const acquiring = later(holdfast.mutex('k').acquire());
    await clock.advance(2500);
    await failure(acquiring, 'HOLDFAST_UNREACHABLE');
    port.silent = undefined;
    await clock.advance(4000);
    const lease = await clock.until(other.mutex('k').acquire());
    for (const answer of port.kept.splice(0)) answer();
    await clock.advance(10);
    expect(await clock.until(holdfast.mutex('k').tryAcquire())).toBeNull();
    expect(await clock.until(lease.release())).toBe('freed');
    expect((await clock.until(holdfast.mutex('k').acquire())).fence).toBeGreaterThan(lease.fence);
  });
});

it('the error says which call had no answer, and for how long', async () => {
  port.silent = 'read';
  const holdfast = new Holdfast(new RegisterStore(port, { clock, timeout: 500 }), {
    ...{ clock, ...OPTIONS },
  });
  const acquiring = later(holdfast.mutex('k').acquire({ wait: 0 }));
  await clock.advance(600);
  const error = await failure(acquiring, 'HOLDFAST_UNREACHABLE');
  expect(error.message).toContain('the register did not answer read within 500 ms');
});

it('a register that ends its calls itself needs no limit', () => {
  expect(() => register(new MemoryRegister(), { timeout: Infinity })).not.toThrow();
});

it.each([{ timeout: 99 }, { timeout: 1.5 }, { timeout: -Infinity }, { limit: 1 }, null])(
  'the options %j are refused',
  (options) => {
    const port: Register = new MemoryRegister();
    expect(() => register(port, options as object)).toThrow(
      expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION' }),
    );
  },
);
