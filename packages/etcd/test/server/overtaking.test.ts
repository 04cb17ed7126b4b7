/** `overtake`: calls of others between its two requests, and the removal of its mark. */
import { until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { EtcdRegister } from '../../src/etcd-register.js';
import type { FetchFunction } from '../../src/index.js';
import { base64, rangeOf } from '../../src/keys.js';
import { onCluster } from '../support.js';

const test = onCluster();
const forgetAt = Number.MAX_SAFE_INTEGER;

const change = (state: string): Parameters<EtcdRegister['swap']>[2] => ({
  ...{ state, forgetAt, messages: [] },
});

async function put(key: string, state: string): Promise<string> {
  const register = test.register();
  const { version } = await register.read(key);
  const swapped = await register.swap(key, version, change(state));
  return swapped === false ? '' : swapped.version;
}

/** A register that calls `between` before its second transaction. */
function interrupted(between: () => Promise<unknown>): EtcdRegister {
  let transactions = 0;
  const fetching: FetchFunction = async (url, init) => {
    if (url.endsWith('/kv/txn') && ++transactions === 2) await between();
    return fetch(url, init);
  };
  return test.register({ fetch: fetching });
}

describe('overtake', () => {
  it('of several at once changes the version once', async () => {
    const version = await put('several', 'state');
    const registers = Array.from({ length: 8 }, () => test.register());
    const found = await Promise.all(registers.map((one) => one.overtake('several')));
    const versions = new Set(found.map((one) => one.version));
    expect(versions.size).toBe(1);
    expect(versions).not.toContain(version);
    expect(found.map(({ state }) => state)).toEqual(registers.map(() => 'state'));
  });

  it('after another one that came first only reads', async () => {
    await put('second', 'state');
    let first = '';
    const late = interrupted(async () => {
      first = (await test.register().overtake('second')).version;
    });
    expect(await late.overtake('second')).toMatchObject({ state: 'state', version: first });
  });

  it('has the state of a swap that came in between, and makes the next swap lose', async () => {
    await put('between', 'first');
    let between = '';
    const late = interrupted(async () => (between = await put('between', 'second')));
    const found = await late.overtake('between');
    expect(found.state).toBe('second');
    expect(await test.register().swap('between', between, change('third'))).toBe(false);
    expect(await late.swap('between', found.version, change('mine'))).not.toBe(false);
  });

  it('of a state that is deleted in between finds none', async () => {
    const version = await put('deleted', 'state');
    const remover = test.register();
    const late = interrupted(() => remover.swap('deleted', version, change('')));
    expect(await late.overtake('deleted')).toMatchObject({ state: '', version: '0' });
  });

  it('changes the version again after a swap, and after its mark was removed', async () => {
    await put('again', 'state');
    const register = test.register();
    for (let round = 0; round < 3; round += 1) {
      const { version } = await register.overtake('again');
      await register.swap('again', version, change(`${round}`));
    }
    const { version } = await register.overtake('again');
    await test.request('kv/deleterange', rangeOf('holdfast/w/'));
    expect((await register.overtake('again')).version).not.toBe(version);
    expect((await register.read('again')).state).toBe('2');
  });

  it('leaves a mark that is removed with old messages', async () => {
    await put('marked', 'state');
    const register = test.register();
    await register.overtake('marked');
    const mark = { key: base64('holdfast/w/\0marked'), count_only: true };
    const isThere = async (): Promise<boolean> => {
      const { count } = await test.request<{ count?: string }>('kv/range', mark);
      return count === '1';
    };
    expect(await isThere()).toBe(true);
    let added = 0;
    await until(
      async () => {
        const keys = Array.from({ length: 100 }, () => `added ${added++}`);
        await Promise.all(keys.map((key) => register.swap(key, '0', change('x'))));
        return !(await isThere());
      },
      { within: 30_000 },
    );
    expect((await register.read('marked')).state).toBe('state');
  });
});
