/** Files that are locked, full, gone, of others, or not usable, and sockets that do not work. */
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Holdfast } from 'holdfast';
import { paced, until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import { type Handle, loadClient } from '../../src/client.js';
import { settingsOf } from '../../src/options.js';
import { SqliteRegister } from '../../src/sqlite-register.js';
import { client, inFolder } from '../support.js';

const folder = inFolder();
type Two = [Holdfast, Holdfast];
const FEW = { requestTimeout: paced(300), unreachableAfter: paced(600) };

/** Another program that has the file open. */
async function opened(path: string): Promise<Handle> {
  const handle = (await loadClient(client)).open(path);
  folder.later(() => handle.close());
  return handle;
}

it('a removal of old rows does not open a file again that was closed meanwhile', async () => {
  const file = folder.file();
  const register = folder.register(file, { listen: false });
  const change = { state: 'x', forgetAt: 0, messages: [] };
  // so many new rows begin a removal in the next turn
  const swapped = Array.from({ length: 200 }, (_, at) => register.swap(`${at}`, '0', change));
  await Promise.all(swapped);
  await register.close();
  rmSync(file);
  for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
  expect(existsSync(file)).toBe(false);
});

describe('another program keeps the file locked', () => {
  it('for a while: the call waits for it, and the event loop goes on', async () => {
    const file = folder.file();
    const holdfast = folder.instance(file);
    const lease = await holdfast.mutex('a').acquire();
    const other = await opened(file);
    other.exec('BEGIN IMMEDIATE');
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    const taking = holdfast.mutex('b').acquire();
    await until(() => turns > 50);
    clearInterval(counting);
    other.exec('ROLLBACK');
    const taken = await taking;
    expect(lease.held).toBe(true);
    await Promise.all([lease.release(), taken.release()]);
  });

  it('for too long: an outage that says so, and no refusal', async () => {
    const file = folder.file();
    const holdfast = folder.instance(file, FEW, { timeout: 100 });
    await (await holdfast.mutex('a').acquire()).release();
    const other = await opened(file);
    other.exec('BEGIN IMMEDIATE');
    await expect(holdfast.mutex('b').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_UNREACHABLE',
      message: expect.stringMatching(/database is locked.*a file of their own/),
    });
    other.exec('ROLLBACK');
    await (await holdfast.mutex('b').acquire()).release();
  });
});

it('a full disk is an outage with the words of SQLite, and locks are released', async () => {
  const found = await loadClient(client);
  const limited = (path: string): Handle => {
    const handle = found.open(path);
    handle.exec('PRAGMA max_page_count = 20');
    return handle;
  };
  const register = new SqliteRegister(folder.file(), settingsOf({}), async () => {
    return { name: found.name, open: limited };
  });
  folder.later(() => register.close());
  const change = (size: number) => {
    return { state: 'x'.repeat(size), forgetAt: Number.MAX_SAFE_INTEGER, messages: [] };
  };
  const first = await register.swap('a', '0', change(10));
  await expect(register.swap('b', '0', change(200_000))).rejects.toMatchObject({
    kind: 'transient',
    message: expect.stringMatching(/full.*no space left/),
  });
  const { version } = first as { version: string };
  expect(await register.swap('a', version, change(0))).not.toBe(false);
});

it('a call that waits for the file ends with its closing, and does not open it again', async () => {
  const file = folder.file();
  const register = folder.register(file, { listen: false, timeout: 60_000 });
  const change = { state: 'x', forgetAt: 0, messages: [] };
  await register.swap('a', '0', change);
  const other = await opened(file);
  other.exec('BEGIN IMMEDIATE');
  const swapping = register.swap('b', '0', change);
  const outcome = swapping.catch((error: unknown) => error);
  await until(() => register.trouble() !== undefined);
  await register.close();
  expect(await outcome).toMatchObject({ kind: 'unanswered' });
  other.exec('ROLLBACK');
  expect(await register.read('b')).toMatchObject({ version: '0' });
});

describe('the file', () => {
  /** By chance a removal of old rows follows in the next turn: it would be the next call. */
  async function addRow(register: SqliteRegister): Promise<void> {
    const change = { state: 'x', forgetAt: Number.MAX_SAFE_INTEGER, messages: [] };
    await register.swap('a', '0', change);
    await new Promise(setImmediate);
  }

  it.each(['-shm', '-wal'])('%s that is removed is found by the next call', async (end) => {
    const file = folder.file();
    const register = folder.register(file, { listen: false });
    await addRow(register);
    rmSync(`${file}${end}`);
    const message = expect.stringMatching(/removed or replaced/);
    await expect(register.read('a')).rejects.toMatchObject({ kind: 'unanswered', message });
    await register.read('a');
  });

  it('whose folder is gone for a while is an outage, and no refusal', async () => {
    const [place, away] = [join(folder.path, 'mounted'), join(folder.path, 'unmounted')];
    mkdirSync(place);
    const register = folder.register(join(place, 'locks.db'), { listen: false });
    await addRow(register);
    renameSync(place, away);
    await expect(register.read('a')).rejects.toMatchObject({ kind: 'unanswered' });
    await expect(register.read('a')).rejects.toMatchObject({ kind: 'transient' });
    renameSync(away, place);
    expect(await register.read('a')).toMatchObject({ state: 'x' });
  });

  it('that is removed is made again, and a lease of before is not confirmed', async () => {
    const file = folder.file();
    const holdfast = folder.instance(file, FEW);
    const lease = await holdfast.mutex('a').acquire();
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
    const other = await folder.instance(file).mutex('a').acquire();
    // the first call finds that the file is another one, and the next one asks that
    await until(async () => {
      await lease.extend(10_000).catch(() => undefined);
      return lease.state === 'lost';
    });
    expect(await other.extend(10_000)).toBeGreaterThan(5000);
  });

  it('in a folder that is missing is refused until the folder is there', async () => {
    const missing = join(folder.path, 'missing');
    const holdfast = folder.instance(join(missing, 'locks.db'));
    await expect(holdfast.mutex('a').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringContaining('create the folder'),
    });
    mkdirSync(missing);
    await (await holdfast.mutex('a').acquire()).release();
  });

  it.each([
    ['is the database of another program', 'CREATE TABLE users (name TEXT)', /another program/],
    ['comes from another version', 'PRAGMA user_version = 99', /another version/],
  ])('that %s is refused, and stays as it is', async (_, change, message) => {
    const file = folder.file();
    if (change.startsWith('PRAGMA')) await folder.register(file).read('a');
    const other = await opened(file);
    other.exec(change);
    const refused = { code: 'HOLDFAST_REFUSED', message: expect.stringMatching(message) };
    await expect(folder.instance(file).mutex('a').acquire()).rejects.toMatchObject(refused);
  });

  it('that is no database is refused', async () => {
    const file = folder.file();
    writeFileSync(file, 'This is a text, and longer than the header of a database. '.repeat(20));
    await expect(folder.instance(file).mutex('a').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(/not a database.*give another path/),
    });
  });

  it('that is a folder, or has a second name, is refused', async () => {
    await expect(folder.instance(folder.path).mutex('a').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringContaining('is not a file'),
    });
    const file = folder.file();
    await folder.register(file).read('a');
    linkSync(file, `${file}-2`);
    await expect(folder.instance(`${file}-2`).mutex('a').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringContaining('second name'),
    });
  });
});

describe('sockets', () => {
  it('are for the owner only, and end with their instance', async () => {
    const file = folder.file();
    const holdfast = folder.instance(file);
    const lease = await holdfast.mutex('a').acquire();
    const waiter = folder.instance(file);
    const waiting = waiter.mutex('a').acquire();
    await until(() => waiter.stats().pushes);
    expect(lstatSync(`${file}-wake`).mode & 0o777).toBe(0o700);
    expect(readdirSync(`${file}-wake`)).not.toEqual([]);
    await lease.release();
    await (await waiting).release();
    await Promise.all([holdfast.close(), waiter.close()]);
    expect(readdirSync(`${file}-wake`)).toEqual([]);
  });

  it.each(['open to others', 'a file'])(
    'in a folder that is %s are not used, and waiters poll',
    async (how) => {
      const file = folder.file();
      if (how === 'a file') writeFileSync(`${file}-wake`, '');
      else mkdirSync(`${file}-wake`);
      chmodSync(`${file}-wake`, 0o777);
      const [a, b] = [0, 0].map(() => folder.instance(file, { claimWindow: 500 })) as Two;
      const lease = await a.mutex('a').acquire();
      const waiting = b.mutex('a').acquire();
      await until(async () => (await a.inspect('a'))?.waiterCount === 1);
      await lease.release();
      expect(await (await waiting).release()).toBe('freed');
      expect(b.stats().pushes).toBe(false);
    },
  );

  it('that are removed come back, and the next waiter is woken', {
    timeout: paced(60_000),
  }, async () => {
    const file = folder.file();
    const [a, b] = [0, 0].map(() => folder.instance(file)) as Two;
    const lease = await a.mutex('a').acquire();
    const waiting = b.mutex('a').acquire();
    await until(() => b.stats().pushes);
    const [name = ''] = readdirSync(`${file}-wake`);
    rmSync(join(`${file}-wake`, name));
    await until(() => existsSync(join(`${file}-wake`, name)), { every: 50 });
    await until(() => b.stats().pushes);
    await lease.release();
    expect(await (await waiting).release()).toBe('freed');
  });
});
