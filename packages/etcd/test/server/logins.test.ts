/** Users, rights, and tokens that expire. */
import { Holdfast } from 'holdfast';
import { paced, sleep, until } from 'holdfast-testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { etcd } from '../../src/index.js';
import { onCluster } from '../support.js';

const test = onCluster({ args: ['--auth-token-ttl', '2'] });
const login = { user: 'locks', password: 'secret of locks' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

beforeAll(async () => {
  for (const [user, password] of [
    ['root', 'secret of root'],
    ['locks', login.password],
  ] as const) {
    await test.request('auth/user/add', { name: user, password });
    await test.request('auth/role/add', { name: user });
    await test.request('auth/user/grant', { user, role: user });
  }
  const perm = { permType: 'READWRITE', key: base64('holdfast/'), range_end: base64('holdfast0') };
  await test.request('auth/role/grant', { name: 'locks', perm });
  await test.request('auth/enable', {});
}, 120_000);

/** Long enough for the token to expire. */
const EXPIRED_MS = 4500;

describe('a user', () => {
  it('with rights below the root takes locks, and is woken', async () => {
    const [a, b] = [test.instance({}, login), test.instance({}, login)];
    const lease = await a.mutex('m').acquire();
    const waiting = b.mutex('m').acquire();
    await until(() => b.stats().pushes);
    await lease.release();
    await (await waiting).release();
  });

  it('whose token has expired gets another one, for requests and for watches', {
    timeout: paced(60_000),
  }, async () => {
    const [a, b] = [test.instance({}, login), test.instance({}, login)];
    const lease = await a.mutex('expired').acquire({ ttl: 60_000 });
    await a.mutex('other').run(() => undefined);
    await b.mutex('other').run(() => undefined);
    await sleep(EXPIRED_MS);
    const waiting = b.mutex('expired').acquire({ ttl: 60_000 });
    await until(() => b.stats().pushes);
    await sleep(EXPIRED_MS);
    expect(await lease.release()).toBe('freed');
    expect(await (await waiting).release()).toBe('freed');
  });

  it('with a wrong password is refused with the words of etcd', async () => {
    const holdfast = test.instance({}, { ...login, password: 'wrong' });
    await expect(holdfast.mutex('m').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(/authentication failed/),
    });
  });

  it('is asked for, if there is none', async () => {
    await expect(test.instance().mutex('m').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(/user name is empty.*"user" and "password"/),
    });
  });

  it('without rights on the root is refused', async () => {
    const holdfast = test.instance({}, { ...login, root: 'elsewhere/' });
    await expect(holdfast.mutex('m').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(/permission denied.*"root"/),
    });
  });
});

it('a user is not needed where authentication is off, and does no harm', async () => {
  const root = await fetch(`${test.cluster.endpoints[0]}/v3/auth/authenticate`, {
    ...{ method: 'POST', body: JSON.stringify({ name: 'root', password: 'secret of root' }) },
  });
  const { token } = (await root.json()) as { token: string };
  const headers = { authorization: token };
  const url = `${test.cluster.endpoints[0]}/v3/auth/disable`;
  await fetch(url, { method: 'POST', body: '{}', headers });
  await using holdfast = new Holdfast(etcd(test.cluster.endpoints, login));
  await (await holdfast.mutex('m').acquire()).release();
});
