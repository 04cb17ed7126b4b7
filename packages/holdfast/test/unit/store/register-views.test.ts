/** What looks at a register shows of it, and of its failures. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, isHoldfastError } from '../../../src/index.js';
import { MemoryRegister } from '../../../src/store/register/memory-register.js';
import type { Register } from '../../../src/store/register/register.js';
import { RegisterError } from '../../../src/store/register/register-error.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { VirtualClock } from '../../support/virtual-clock.js';

let clock: VirtualClock;

beforeEach(() => {
  clock = new VirtualClock();
});

function on(methods: Partial<Register>): Holdfast {
  const port = Object.assign(new MemoryRegister(clock), methods);
  return new Holdfast(new RegisterStore(port, { clock, timeout: 500 }), { clock });
}

async function listed(holdfast: Holdfast): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of holdfast.list('a*')) keys.push(key);
  return keys;
}

describe.each([
  [new RegisterError('unanswered', 'no answer'), 'HOLDFAST_UNREACHABLE'],
  [new RegisterError('transient', 'it restarts'), 'HOLDFAST_UNREACHABLE'],
  [new RegisterError('closed', 'it is closed'), 'HOLDFAST_UNREACHABLE'],
  [new RegisterError('refused', 'no right to read'), 'HOLDFAST_REFUSED'],
  [new Error('socket hang up'), 'HOLDFAST_UNREACHABLE'],
] as const)('after %o', (failure, code) => {
  const failing = (): Holdfast => {
    const scan = async function* (): ReturnType<Register['scan']> {
      yield* [];
      throw failure;
    };
    return on({ scan, examine: () => Promise.reject(failure) });
  };

  it.each([
    ['list', listed],
    ['count', (holdfast: Holdfast) => holdfast.count('a*')],
  ])('%s rejects with a code', async (_, look) => {
    const error: unknown = await clock.until(look(failing()).catch((thrown) => thrown));
    expect(isHoldfastError(error, code)).toBe(true);
    expect(String(error)).toContain(failure.message);
  });

  it('the doctor finds a store that cannot be used', async () => {
    const { findings, servers } = await clock.until(failing().doctor());
    expect(servers).toEqual([]);
    expect(findings).toMatchObject([
      { code: 'unreachable', severity: 'danger', evidence: failure.message },
    ]);
  });
});

describe('the doctor', () => {
  const finding = {
    ...({ code: 'my:slow-disk', severity: 'warning', server: 'a' } as const),
    ...{ message: 'calls are slow', evidence: '20 ms', advice: 'another disk' },
  };

  it('shows what the register finds', async () => {
    const report = on({ examine: async () => [finding] }).doctor();
    expect(await clock.until(report)).toEqual({ findings: [finding], servers: [] });
    expect(await clock.until(on({}).doctor())).toEqual({ findings: [], servers: [] });
  });

  it('does not wait for one that never answers', async () => {
    const report = on({ examine: () => new Promise(() => undefined) }).doctor();
    const evidence = 'the register did not answer examine within 500 ms';
    const findings = [{ code: 'unreachable', evidence }];
    expect(await clock.until(report)).toMatchObject({ findings });
  });
});
