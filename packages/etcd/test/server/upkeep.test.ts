/** Old keys, the cost of a lock, findings, TLS, and clocks that are set. */
import { request as httpsRequest } from 'node:https';
import { Holdfast } from 'holdfast';
import { makeCertificate, startEtcd, until } from 'holdfast-testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EtcdRegister } from '../../src/etcd-register.js';
import { etcd, type FetchFunction } from '../../src/index.js';
import { rangeOf } from '../../src/keys.js';
import { settingsOf } from '../../src/options.js';
import { FaultyFetch } from '../faulty-fetch.js';
import { onCluster } from '../support.js';

const test = onCluster({ members: 3 });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function countOf(prefix: string): Promise<number> {
  const range = { ...rangeOf(prefix), count_only: true };
  const { count = '0' } = await test.request<{ count?: string }>('kv/range', range);
  return Number(count);
}

it('states that may be forgotten are removed with later calls, and others stay', async () => {
  const registers = Array.from({ length: 5 }, () => test.register({ root: 'sweep/' }));
  const [register] = registers as [EtcdRegister];
  const add = async (key: string, ms: number, by = register): Promise<void> => {
    const { time } = await by.read(key);
    const messages = [{ channel: 'none', text: 'x' }];
    await by.swap(key, '0', { state: 'x', forgetAt: time + ms * 1000, messages });
  };
  await add('kept', 3_600_000);
  const old = Array.from({ length: 300 }, (_, at) => add(`old ${at}`, 1, registers[at % 5]));
  await Promise.all(old);
  let more = 0;
  await until(
    async () => {
      await Promise.all(Array.from({ length: 100 }, () => add(`old too ${more++}`, 1)));
      return (await countOf('sweep/k/old ')) < 150;
    },
    { within: 30_000 },
  );
  expect((await register.read('kept')).state).toBe('x');
  expect(await countOf('sweep/w/')).toBeLessThan(100);
});

/** A pair that took longer met a delay, in ms. */
const SLOW_MS = 500;

it('a lock and its release take a transaction each, and read nothing', async () => {
  const faults = new FaultyFetch();
  // its first key begins no look for old ones
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  const holdfast = test.instance({ localHandOffs: 0 }, { fetch: faults.fetch });
  random.mockRestore();
  await holdfast.mutex('pair').run(() => undefined);
  const longer: string[] = [];
  let slow = 0;
  for (let turn = 0; turn < 5; turn += 1) {
    faults.paths.length = 0;
    for (let count = 0; count < 5; count += 1) {
      const began = performance.now();
      await holdfast.mutex('pair').run(() => undefined);
      if (performance.now() - began > SLOW_MS) slow += 1;
    }
    // some requests are for the clock
    const requests = faults.paths.filter((path) => path !== '/version');
    const transactions = requests.filter((path) => path === '/v3/kv/txn');
    expect(transactions.length).toBeGreaterThanOrEqual(10);
    if (requests.length > 10) longer.push(requests.join(' '));
  }
  // a request that is late is repeated after a read; one turn more had a read on a busy machine
  expect(longer.length, longer.join('\n')).toBeLessThanOrEqual(1 + slow);
});

describe('clocks', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('contain that of the servers, and are narrow', async () => {
    const register = test.register();
    for (let round = 0; round < 20; round += 1) {
      const began = Date.now() * 1000;
      const { time, latest = time } = await register.read('clock');
      expect(time).toBeLessThanOrEqual((Date.now() + 1) * 1000);
      expect(latest).toBeGreaterThanOrEqual(began);
    }
    await until(async () => {
      const began = performance.now();
      const { time, latest = time } = await register.read('clock');
      return latest - time + (performance.now() - began) * 1000 < 60_000;
    });
  });

  it('of a member that is set by an hour changes no lease', async () => {
    const faults = new FaultyFetch();
    const settings = { fetch: faults.fetch };
    const holdfast = test.instance({ requestTimeout: 5000 }, settings);
    const lease = await holdfast.mutex('hour').acquire({ ttl: 30_000 });
    for (const endpoint of test.cluster.endpoints) {
      faults.ahead.clear();
      faults.ahead.set(endpoint, 3_600_000);
      // a request during the step may tell too little
      const left = await until(() => lease.extend(30_000).catch(() => undefined));
      expect(lease.held).toBe(true);
      expect(left).toBeGreaterThan(25_000);
      // far less than an hour
      expect(left).toBeLessThan(60_000);
      expect(
        await test.instance({ requestTimeout: 5000 }, settings).mutex('hour').tryAcquire(),
      ).toBe(null);
    }
    await lease.release();
  });

  it('of this machine that is set changes no lease', async () => {
    const register = test.register();
    const before = await register.read('step');
    const now = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
    // a member that is slow to answer may tell too little
    await until(async () => {
      const { time } = await register.read('step');
      expect(time - before.time).toBeLessThan(10_000_000);
      return time - before.time > -60_000;
    });
  });
});

describe('the doctor', () => {
  it('finds nothing on three members with all endpoints', async () => {
    expect(await test.register().examine()).toEqual([]);
  });

  it('finds members that were not given, and those that do not answer', async () => {
    const [first = '', second = ''] = test.cluster.endpoints;
    const partly = new EtcdRegister([first], settingsOf({}));
    expect(await partly.examine()).toMatchObject([
      { code: 'etcd:other-members', severity: 'danger' },
    ]);
    const holdfast = new Holdfast(etcd(first));
    const { findings } = await holdfast.doctor();
    expect(findings.map(({ code }) => code)).toEqual(['etcd:other-members']);
    await holdfast.close();
    const gone = new EtcdRegister([first, second, 'http://127.0.0.1:9'], settingsOf({}));
    expect(await gone.examine()).toMatchObject([
      { code: 'etcd:no-answer', severity: 'warning', server: 'http://127.0.0.1:9' },
    ]);
  });

  it('finds clocks that differ', async () => {
    const faults = new FaultyFetch();
    faults.ahead.set(test.cluster.endpoints[0] as string, 60_000);
    expect(await test.register({ fetch: faults.fetch }).examine()).toMatchObject([
      { code: 'etcd:clocks-differ', severity: 'warning' },
    ]);
  });

  it('finds one member, a full database, and no compaction', async () => {
    await using cluster = await startEtcd({ args: ['--quota-backend-bytes', '1000000'] });
    const holdfast = new Holdfast(etcd(cluster.endpoints));
    await holdfast.mutex('full').run(() => undefined);
    const put = JSON.stringify({ key: base64('big'), value: base64('x'.repeat(400_000)) });
    await until(async () => {
      const answer = await fetch(`${cluster.endpoints[0]}/v3/kv/put`, {
        method: 'POST',
        body: put,
      });
      return answer.status !== 200;
    });
    const register = new EtcdRegister(cluster.endpoints, settingsOf({}));
    expect(await register.examine()).toMatchObject([
      { code: 'etcd:alarm', severity: 'danger' },
      { code: 'etcd:no-spare-member', severity: 'notice' },
    ]);
    // an outage: space may be made
    await expect(holdfast.mutex('full').acquire({ wait: 1000 })).rejects.toMatchObject({
      message: expect.stringMatching(/space exceeded.*alarm disarm/),
    });
    await holdfast.close({ grace: 0 });
  });
});

describe('TLS', () => {
  it('works with an authority that `fetch` knows, and an error names a missing one', async () => {
    const certificate = await makeCertificate();
    await using cluster = await startEtcd({ certificate });
    const [endpoint = ''] = cluster.endpoints;
    const terms = { requestTimeout: 1000, unreachableAfter: 1500 };
    const without = new Holdfast(etcd(endpoint), terms);
    await expect(without.mutex('a').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_UNREACHABLE',
      message: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
    await without.close({ grace: 0 });
    const own = new Holdfast(etcd(endpoint, { fetch: fetchWith(certificate.ca) }));
    await own.mutex('a').run(() => undefined);
    await own.close();
  });
});

/** A `fetch` with an authority of its own, on `node:https`. */
function fetchWith(ca: string): FetchFunction {
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const request = httpsRequest(url, { method, headers, signal, ca }, (response) => {
        const text = async (): Promise<string> => {
          let all = '';
          for await (const part of response.setEncoding('utf8')) all += part as string;
          return all;
        };
        const { statusCode: status = 0, headers: got } = response;
        const get = (name: string): string | null => (got[name] as string | undefined) ?? null;
        resolve({ status, headers: { get }, text, body: response });
      });
      request.on('error', reject);
      request.end(body);
    });
}
