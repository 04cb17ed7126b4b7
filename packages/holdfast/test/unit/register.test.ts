/** The entry `holdfast/register`: options, errors of a register, wrong answers, the end. */
import { afterEach, describe, expect, it } from 'vitest';
import { Holdfast, isHoldfastError } from '../../src/index.js';
import {
  type Change,
  isRegisterError,
  MemoryRegister,
  type Register,
  register,
  RegisterError,
  type Swapped,
  type Versioned,
} from '../../src/register.js';

/** A register whose answers can be changed. */
class Changed extends MemoryRegister {
  closed = 0;
  answer: (answer: Versioned) => unknown = (answer) => answer;
  swapping: () => void = () => undefined;

  override async read(key: string): Promise<Versioned> {
    return this.answer(await super.read(key)) as Versioned;
  }

  override async swap(key: string, version: string, change: Change): Promise<Swapped> {
    this.swapping();
    return super.swap(key, version, change);
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

const made: Holdfast[] = [];
const make = (...args: ConstructorParameters<typeof Holdfast>): Holdfast => {
  const instance = new Holdfast(...args);
  made.push(instance);
  return instance;
};
afterEach(async () => {
  for (const instance of made.splice(0)) await instance.close({ grace: 0 });
});

describe('register()', () => {
  it('is a store for instances, which share locks', async () => {
    const store = register(new MemoryRegister());
    const [one, other] = [make(store), make(store)];
    const lease = await one.mutex('k').acquire();
    expect(await other.mutex('k').tryAcquire()).toBeNull();
    await lease.release();
    expect(await other.mutex('k').run(({ fence }) => fence > lease.fence)).toBe(true);
  });

  it('names the member that is missing or wrong', () => {
    const port = new MemoryRegister();
    const optionOf = (bad: unknown): unknown => {
      try {
        register(bad as Register);
      } catch (error) {
        return isHoldfastError(error, 'HOLDFAST_BAD_OPTION') && error.option;
      }
      return undefined;
    };
    expect(optionOf(undefined)).toBe('port');
    for (const name of ['label', 'read', 'swap', 'scan']) {
      const bad = Object.assign(Object.create(port), { [name]: undefined });
      expect(optionOf(bad)).toBe(`port.${name}`);
    }
    for (const name of ['listen', 'readMany', 'swapMany', 'alive', 'examine', 'trouble', 'close']) {
      expect(optionOf(Object.assign(Object.create(port), { [name]: 1 }))).toBe(`port.${name}`);
    }
    expect(optionOf(Object.assign(Object.create(port), { stateMax: 10 }))).toBe('port.stateMax');
  });

  it('closes the register with its last instance, of whatever prefix', async () => {
    const port = new Changed();
    const store = register(port);
    const [one, other, third] = [make(store), make(store, { prefix: 'p:' }), make(store)];
    await Promise.all([one.warmUp(), other.warmUp()]);
    await one.close();
    await other.close();
    expect(port.closed).toBe(0);
    await third.close();
    expect(port.closed).toBe(1);
  });

  it('closes the register after its wake channels', async () => {
    const steps: string[] = [];
    const port = new Changed();
    const listen = port.listen.bind(port);
    port.listen = async (channel, listener) => {
      const listening = await listen(channel, listener);
      return {
        close: async () => {
          await listening.close();
          steps.push('channel');
        },
      };
    };
    port.close = async () => void steps.push('register');
    const one = make(register(port));
    await one.warmUp();
    await one.close();
    expect(steps).toEqual(['channel', 'register']);
  });

  it('does not close the register of an instance that came while the last one closed', async () => {
    const port = new Changed();
    const listen = port.listen.bind(port);
    const store = register(port);
    const next: Holdfast[] = [];
    port.listen = async (channel, listener) => {
      const listening = await listen(channel, listener);
      return {
        close: async () => {
          await listening.close();
          next.push(make(store));
        },
      };
    };
    const one = make(store);
    await one.warmUp();
    await one.close();
    expect(next).toHaveLength(1);
    expect(port.closed).toBe(0);
    await next[0]?.close();
    expect(port.closed).toBe(1);
  });
});

describe('an error of a register', () => {
  const codeOf = async (error: Error): Promise<unknown> => {
    const port = new Changed();
    port.swapping = () => {
      throw error;
    };
    const one = make(register(port), { requestTimeout: 100, unreachableAfter: 100 });
    return one
      .mutex('k')
      .acquire({ wait: 200 })
      .catch((failure: unknown) => failure);
  };

  it('that refuses is a refusal, with the words of the server', async () => {
    const failure = await codeOf(new RegisterError('refused', 'no table "locks"'));
    expect(isHoldfastError(failure, 'HOLDFAST_REFUSED')).toBe(true);
    expect((failure as Error).message).toContain('no table "locks"');
  });

  it.each([
    ['a refusal for now', new RegisterError('transient', 'a standby')],
    ['a closed client', new RegisterError('closed', 'the pool has ended')],
    ['no answer', new RegisterError('unanswered', 'reset')],
    ['any other error', new Error('reset')],
  ])('%s is no refusal', async (_, error) => {
    const failure = await codeOf(error);
    expect(isHoldfastError(failure) && failure.code).toBe('HOLDFAST_UNREACHABLE');
  });

  it('is known by a mark, and has one of four kinds', () => {
    expect(isRegisterError(new RegisterError('refused', 'x'))).toBe(true);
    expect(isRegisterError(new Error('x'))).toBe(false);
    expect(() => new RegisterError('no' as 'refused', 'x')).toThrow('no such kind');
  });
});

describe('a wrong answer of a register', () => {
  it.each<[string, (answer: Versioned) => unknown]>([
    ['`time`', (answer) => ({ ...answer, time: `${answer.time}` })],
    ['`time`', (answer) => ({ ...answer, time: answer.time + 0.5 })],
    ['`latest`', (answer) => ({ ...answer, latest: `${answer.time}` })],
    ['`version`', (answer) => ({ ...answer, version: 1 })],
    ['`state`', (answer) => ({ ...answer, state: null })],
    ['an object', () => undefined],
  ])('names %s', async (field, answer) => {
    const port = new Changed();
    port.answer = answer;
    const one = make(register(port), { requestTimeout: 100, unreachableAfter: 100 });
    await expect(one.mutex('k').acquire({ wait: 200 })).rejects.toThrow(field);
  });
});
