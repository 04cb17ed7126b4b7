/** A register that refuses: what is certain not to be in it is not withdrawn. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../../src/index.js';
import {
  type Change,
  MemoryRegister,
  RegisterError,
  type Swapped,
  type Versioned,
} from '../../../src/register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { failure, later } from '../../suites/helpers.js';
import { VirtualClock } from '../../support/virtual-clock.js';

class Refusing extends MemoryRegister {
  calls = 0;
  refuses = false;
  /** The next swap takes effect, has no answer, and is the last one that is not refused. */
  loses = false;

  override async read(key: string): Promise<Versioned> {
    this.#check();
    return super.read(key);
  }

  override async swap(key: string, version: string, change: Change): Promise<Swapped> {
    this.#check();
    const swapped = await super.swap(key, version, change);
    if (!this.loses) return swapped;
    this.loses = false;
    this.refuses = true;
    throw new Error('connection lost');
  }

  #check(): void {
    this.calls += 1;
    if (this.refuses) throw new RegisterError('refused', 'no right to use the table');
  }
}

let clock: VirtualClock;
let port: Refusing;
let holdfast: Holdfast;
let other: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  port = new Refusing(clock);
  holdfast = new Holdfast(new RegisterStore(port, { clock }), { clock });
  other = new Holdfast(new RegisterStore(port, { clock }), { clock });
});

/** How long `close` takes, in ms. */
async function closing(): Promise<number> {
  const start = clock.now();
  await clock.until(holdfast.close({ grace: 0 }));
  return clock.now() - start;
}

describe('an acquisition that a register refuses', () => {
  it.each([
    ['that waits', {}],
    ['that does not wait', { wait: 0 }],
    ['that is fair', { fair: true }],
    ['of an owner', { sharedBy: 'me' }],
  ])('%s has nothing to withdraw: close is at once', async (_, options) => {
    port.refuses = true;
    const acquiring = later(holdfast.mutex('k').acquire(options));
    await clock.advance(1);
    await failure(acquiring, 'HOLDFAST_REFUSED');
    expect(await closing()).toBeLessThanOrEqual(10);
    expect(port.calls).toBe(1);
  });

  it('after a request without an answer is withdrawn when it can be', async () => {
    port.loses = true;
    const acquiring = later(holdfast.mutex('k').acquire());
    await clock.advance(1000);
    await failure(acquiring, 'HOLDFAST_REFUSED');
    port.refuses = false;
    expect(await clock.until(other.inspect('k'))).toMatchObject({ holders: [{}] });
    await clock.advance(1500);
    expect(await clock.until(other.mutex('k').tryAcquire())).not.toBeNull();
  });

  it('after it had a place in the queue is withdrawn when it can be', async () => {
    const lease = await clock.until(other.mutex('k').acquire());
    const acquiring = later(holdfast.mutex('k').acquire());
    await clock.advance(50);
    port.refuses = true;
    await clock.advance(1500);
    await failure(acquiring, 'HOLDFAST_REFUSED');
    port.refuses = false;
    expect(await clock.until(other.inspect('k'))).toMatchObject({ waiterCount: 1 });
    await clock.advance(1500);
    expect(await clock.until(other.inspect('k'))).toMatchObject({ waiterCount: 0 });
    expect(lease.held).toBe(true);
  });
});
