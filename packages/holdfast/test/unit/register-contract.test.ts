/** The contract of a register: that in memory keeps it, and each planted mistake is found. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { MemoryRegister, type Register } from '../../src/register.js';
import { type RegisterCase, registerCases } from '../../src/register-contract.js';
import { MISTAKES } from '../support/register-mistakes.js';

it.each(registerCases.map((one) => [one.name, one] as const))('memory: %s', async (_, one) => {
  const register = new MemoryRegister();
  await one.run(() => register);
});

/** A register with the methods that it must have, and no other. */
const bare = (): Register => {
  const whole = new MemoryRegister();
  return {
    label: 'bare',
    read: (key) => whole.read(key),
    swap: (key, version, change) => whole.swap(key, version, change),
    scan: (prefix) => whole.scan(prefix),
  };
};

it('a register without the optional methods keeps the contract, too', async () => {
  const register = bare();
  await Promise.all(registerCases.map((one) => one.run(() => register)));
});

it('each mistake is planted for a case that exists, and each case has one', () => {
  const found = new Set(Object.values(MISTAKES).map(({ breaks }) => breaks));
  const names = registerCases.map(({ name }) => name);
  expect([...found].sort()).toEqual([...names].sort());
});

it.concurrent.each(Object.entries(MISTAKES))('finds: %s', async (_, { breaks, plant }) => {
  const make = plant(new MemoryRegister());
  const broken = registerCases.find(({ name }) => name === breaks) as RegisterCase;
  await expect(broken.run(make)).rejects.toThrow(/breaks its contract/);
  // timers of the planted mistake end
  await sleep(0);
});
