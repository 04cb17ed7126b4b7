/** The meaning of errors, the options, the place of a file, and the clock. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { RegisterError } from 'holdfast/register';
import { describe, expect, it } from 'vitest';
import { bootId, newOrigin, timeOf } from '../../src/boot-clock.js';
import { failureOf, meaningOf } from '../../src/failures.js';
import { findingsOf } from '../../src/findings.js';
import { pathOf, settingsOf } from '../../src/options.js';
import { checkPlace, typeOf } from '../../src/place.js';
import { WakeFolder } from '../../src/wake-folder.js';
import { inFolder } from '../support.js';

const folder = inFolder();

/** An error of a client: better-sqlite3 gives names, and node:sqlite numbers. */
const named = (code: string): Error => Object.assign(new Error(`words of ${code}`), { code });
const numbered = (errcode: number): Error => {
  return Object.assign(new Error(`words of ${errcode}`), { code: 'ERR_SQLITE_ERROR', errcode });
};
const ofSystem = (code: string): Error => Object.assign(named(code), { syscall: 'open' });

describe('an error', () => {
  it.each([
    ['busy', ['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT', 'SQLITE_LOCKED'], [5, 517, 6, 15]],
    ['transient', ['SQLITE_FULL', 'SQLITE_CANTOPEN', 'SQLITE_NOMEM'], [13, 14, 7, 17]],
    ['unanswered', ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR'], [10, 1034]],
    ['refused', ['SQLITE_CORRUPT', 'SQLITE_READONLY_DBMOVED', 'SQLITE_NOTADB'], [11, 8, 26, 1]],
  ] as const)('of SQLite: %s', (meaning, names, numbers) => {
    for (const one of names) expect([one, meaningOf(named(one))]).toEqual([one, meaning]);
    for (const one of numbers) expect([one, meaningOf(numbered(one))]).toEqual([one, meaning]);
  });

  it('of the system is refused if it stays, and may pass otherwise', () => {
    for (const code of ['ENOENT', 'EACCES', 'EROFS'])
      expect(meaningOf(ofSystem(code))).toBe('refused');
    expect(meaningOf(ofSystem('EMFILE'))).toBe('transient');
    // no call of the system: nothing is known
    expect(meaningOf(named('ENOENT'))).toBe('unanswered');
    expect(meaningOf(new TypeError('x'))).toBe('unanswered');
    expect(meaningOf('x')).toBe('unanswered');
  });

  it('has the words of SQLite, the path, and an advice', () => {
    const failure = failureOf(numbered(13), '/a/locks.db');
    expect(failure).toBeInstanceOf(RegisterError);
    expect(failure).toMatchObject({ kind: 'transient' });
    expect(failure.message).toBe('/a/locks.db: words of 13; the disk has no space left');
    expect(failureOf(failure, '/b')).toBe(failure);
  });
});

describe('options', () => {
  it.each([
    [{ client: 'sqlite3' }, 'client'],
    [{ listen: 'yes' }, 'listen'],
    [{ timeout: 99 }, 'timeout'],
    [{ stateMax: 1.5 }, 'stateMax'],
    [{ wal: true }, 'wal'],
    [null, 'options'],
  ])('%j is refused', (given, option) => {
    const wrong = expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option });
    expect(() => settingsOf(given as never)).toThrow(wrong);
  });

  it.each([
    '',
    'a\0b',
    ':memory:',
    'file:locks.db',
    1,
    new URL('http://a/'),
    'locks.db ',
    'locks.db\n',
    new URL('file://other/x'),
    new URL('file:///a%2Fb'),
    new URL('file:///a%00b'),
    new URL('file:///a%20'),
  ])('the path %s is refused', (path) => {
    const wrong = expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option: 'path' });
    expect(() => pathOf(path)).toThrow(wrong);
  });

  it('a path is that of the folder at the time of the call', () => {
    expect(pathOf('locks.db')).toBe(join(process.cwd(), 'locks.db'));
    expect(pathOf(pathToFileURL('/a/b c.db'))).toBe('/a/b c.db');
  });
});

describe.runIf(process.platform === 'linux')('the file system', () => {
  it.each([
    ['NFS', 0x6969],
    ['SMB', 0xfe534d42],
    ['9P', 0x01021997],
  ])('%s is refused', (name, type) => {
    const refused = expect.objectContaining({
      kind: 'refused',
      message: expect.stringMatching(`is on ${name}, .* use a disk of this machine`),
    });
    expect(() => checkPlace(join(folder.path, 'a.db'), type)).toThrow(refused);
  });

  it('is that of the file, if a link leads to it', () => {
    const elsewhere = mkdtempSync('/dev/shm/holdfast-');
    try {
      const file = join(elsewhere, 'a.db');
      writeFileSync(file, '');
      const link = join(folder.path, 'link.db');
      symlinkSync(file, link);
      expect(typeOf(link)).toBe(statfsSync(elsewhere).type >>> 0);
      checkPlace(link);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('of this machine is taken', () => {
    checkPlace(join(folder.path, 'a.db'));
    const tmpfs = 0x01021994;
    checkPlace(join(folder.path, 'a.db'), tmpfs);
  });
});

describe.runIf(process.platform === 'linux')('the folder of the sockets', () => {
  const linkOf = (fd: string): string => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // that of the list itself
      return '';
    }
  };
  const open = (path: string): number =>
    readdirSync('/proc/self/fd').filter((fd) => linkOf(fd) === path).length;

  it('with a long path is open until the end', () => {
    const deep = join(folder.path, 'x'.repeat(120));
    mkdirSync(deep);
    const wake = new WakeFolder(join(deep, 'a.db'));
    wake.prepare();
    const socket = wake.socketOf('channel');
    expect(wake.addressOf(socket)).toBe(wake.addressOf(socket));
    expect(open(wake.path)).toBe(1);
    wake.close();
    expect(open(wake.path)).toBe(0);
  });
});

describe('the clock', () => {
  it('counts from the origin with the monotonic clock, or is the wall clock', () => {
    const boot = bootId();
    expect(bootId()).toBe(boot);
    const wall = Date.now() * 1000;
    for (const origin of [
      { boot: 'a', origin: newOrigin(0) },
      { boot: '', origin: 0 },
    ]) {
      expect(Math.abs(timeOf(origin) - wall)).toBeLessThan(5_000_000);
    }
    // a wall clock that was set by an hour changes no time of the file
    const hour = 3_600_000_000;
    const ahead = { boot: 'a', origin: newOrigin(0) + hour };
    expect(timeOf(ahead) - wall).toBeGreaterThan(hour - 1_000_000);
  });

  it('that is far from the wall clock is a finding', () => {
    expect(findingsOf(folder.path, 1_000_000)).toEqual([]);
    expect(findingsOf(folder.path, 3_600_000_000)).toMatchObject([
      { code: 'sqlite:clock-was-set', severity: 'notice' },
    ]);
  });
});
