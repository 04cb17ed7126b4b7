/** The register on a driver that answers as a server does: races and standbys. */
import { expect, it } from 'vitest';
import type { Driver, Row } from '../../src/driver.js';
import { PostgresRegister } from '../../src/postgres-register.js';

/** A register whose statements are answered by `answer`. */
function registerOn(answer: (text: string) => readonly Row[]): PostgresRegister {
  const driver: Driver = {
    ...{ label: 'test', isApart: false },
    query: async (text) => answer(text),
    close: async () => undefined,
  };
  return new PostgresRegister({ driver, table: 'locks', stateMax: 1024 });
}

const row = { version: 'v', state: 's', forget_at: '9', time: '1', standby: 'false' };

it.each(['40001', '40P01', '55P03'])('an overtake that lost its race (%s) reads', async (code) => {
  const register = registerOn((text) => {
    if (text.startsWith('UPDATE')) throw Object.assign(new Error('lost'), { code });
    return [row];
  });
  expect(await register.overtake('a')).toMatchObject({ state: 's', version: 'v' });
});

async function keysOf(rows: readonly Row[]): Promise<string[]> {
  const keys: string[] = [];
  const found = registerOn(() => rows).scan('a', (one) => one);
  for await (const { key } of found) keys.push(key);
  return keys;
}

it('an empty page has no key, and that of a standby is an outage', async () => {
  const empty = { key: null, version: null, state: null, forget_at: null, time: '1' };
  expect(await keysOf([{ ...empty, standby: 'false' }])).toEqual([]);
  expect(await keysOf([{ ...row, key: 'ab' }])).toEqual(['ab']);
  for (const standby of [
    { ...empty, standby: 'true' },
    { ...row, key: 'a', standby: 'true' },
  ]) {
    await expect(keysOf([standby])).rejects.toMatchObject({ kind: 'transient' });
  }
});
