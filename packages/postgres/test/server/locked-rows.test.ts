/** Rows that a session of another program keeps locked. */
import { paced, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { driverFor } from '../../src/detect.js';
import { settingsOf } from '../../src/options.js';
import { PostgresRegister } from '../../src/postgres-register.js';
import { onServer } from '../support.js';

const database = onServer();
const lock = "SELECT FROM holdfast_locks WHERE key LIKE '%locked' FOR";

it.each(['SHARE', 'UPDATE'])(
  'FOR %s of one row loses its lease, and no other one',
  async (kind) => {
    const lost: string[] = [];
    const onLost = ({ key }: { key: string }): void => void lost.push(key);
    const ttl = paced(4000);
    const holdfast = database.instance({ ttl, onLost });
    const names = ['locked', ...Array.from({ length: 5 }, (_, at) => `other:${at}`)];
    const keys = names.map((name) => `${kind}:${name}`);
    const leases = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
    const other = await database.client();
    await other.query('BEGIN');
    await other.query(`${lock} ${kind}`);
    await until(() => lost.length > 0, { within: 3 * ttl });
    expect(lost).toEqual([`${kind}:locked`]);
    await other.query('ROLLBACK');
    expect(leases.filter(({ held }) => held)).toHaveLength(5);
    await holdfast.mutex(`${kind}:locked`).run(() => undefined);
  },
);

it('statements do not wait for such a row: the race is lost', async () => {
  const settings = settingsOf({ listen: false });
  const driver = driverFor(database.pool(), settings);
  const register = new PostgresRegister({ driver, ...settings });
  database.later(() => register.close());
  const change = { state: 's', forgetAt: Number.MAX_SAFE_INTEGER, messages: [] };
  await register.swap('a:locked', '0', change);
  const { version } = await register.read('a:locked');
  const other = await database.client();
  await other.query('BEGIN');
  await other.query(`${lock} SHARE`);
  for (const grants of [true, false]) {
    expect(await register.swap('a:locked', version, { ...change, grants })).toBe(false);
    expect(await register.read('a:locked')).toMatchObject({ version });
  }
  expect(await register.overtake('a:locked')).toMatchObject({ version, state: 's' });
  await other.query('ROLLBACK');
  const overtaken = await register.overtake('a:locked');
  expect(overtaken.version).not.toBe(version);
  const more = { ...change, grants: false };
  expect(await register.swap('a:locked', overtaken.version, more)).toHaveProperty('version');
});
