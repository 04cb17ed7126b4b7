/** The meaning of errors, and texts for SQL. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failureOf, meaningOf } from '../../src/failures.js';
import { postgres, tableSql } from '../../src/index.js';
import { channelOf } from '../../src/listening.js';
import { Prepared } from '../../src/prepared.js';
import { arrayOf, behind, escaped, unescaped } from '../../src/sql.js';

const error = (code: string): Error => Object.assign(new Error(`words of ${code}`), { code });

describe('an error of the server', () => {
  it.each([
    ['lost', ['40001', '40P01', '55P03']],
    ['unanswered', ['08006', '08P01', '57P01', '57P02', '57P05', 'XX000', '40003', '25P03']],
    // of PgCat, for each failure
    ['unanswered', ['58000']],
    ['transient', ['57014', '25006', '53100', '53200', '53300', '57P03']],
    ['refused', ['42P01', '42501', '28P01', '3D000', '42P10', '54000', '22021']],
  ])('%s', (meaning, codes) => {
    for (const code of codes) expect([code, meaningOf(error(code))]).toEqual([code, meaning]);
  });

  it('a full queue of messages passes', () => {
    const words = 'too many notifications in the NOTIFY queue';
    expect(meaningOf(Object.assign(new Error(words), { code: '54000' }))).toBe('transient');
  });

  it('an error of a socket is no answer', () => {
    for (const code of ['EPIPE', 'ECONNREFUSED', 'ECONNRESET', 'CONNECTION_CLOSED', 'ENOENT']) {
      expect(meaningOf(error(code))).toBe('unanswered');
    }
    expect(meaningOf(new Error('Connection terminated'))).toBe('unanswered');
    expect(meaningOf(undefined)).toBe('unanswered');
  });

  it('an outage is never a refusal', () => {
    expect(failureOf(error('57P01'), 't')).toMatchObject({ kind: 'unanswered' });
    expect(failureOf(error('42P01'), 'app.t')).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/words of 42P01.*app\.t/),
    });
  });
});

describe('the advice', () => {
  it.each([
    ['42P01', 'holdfast_locks', 'await createTable(pool), '],
    ['42P01', 'app_locks', "await createTable(pool, { table: 'app_locks' }), "],
    ['42P10', 'app_locks', 'ALTER TABLE app_locks ADD PRIMARY KEY (key)'],
  ])('on %s of %s helps', (code, table, words) => {
    expect(failureOf(error(code), table).message).toContain(words);
  });
});

describe('a bad option', () => {
  const messageOf = (run: () => unknown): string => {
    try {
      run();
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };
  const url = 'mysql://app:secret@db/x';

  it('is shown without the password of a URL', () => {
    const pglite = { query: String, listen: String, waitReady: Promise.resolve() };
    for (const run of [
      () => postgres(url),
      () => postgres('postgres://db', { listen: url }),
      () => postgres(async () => [], { listen: url.replace('mysql', 'postgres') }),
      () => postgres(pglite as never, { listen: url.replace('mysql', 'postgres') }),
    ]) {
      expect(messageOf(run)).toContain('//…@db/x');
      expect(messageOf(run)).not.toContain('secret');
    }
  });

  it('is a name of a table that would end its SQL', () => {
    expect(messageOf(() => tableSql('a$$b'))).toContain('"table"');
  });
});

describe('texts', () => {
  it('escaped keys have no character 0, keep their order in a prefix, and come back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (start, rest) => {
        const text = escaped(start + rest);
        expect(text).not.toContain('\0');
        expect(unescaped(text)).toBe(start + rest);
        expect(text.startsWith(escaped(start))).toBe(true);
      }),
    );
  });

  it('the end of a prefix is behind all texts with it', () => {
    const bytes = (text: string): Buffer => Buffer.from(text);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (start, rest) => {
        const end = behind(start);
        if (end !== '') expect(Buffer.compare(bytes(start + rest), bytes(end))).toBeLessThan(0);
      }),
    );
    expect(behind('a:')).toBe('a;');
    expect(behind('\u{10ffff}')).toBe('');
  });

  it('arrays quote characters that have a meaning in them', () => {
    expect(arrayOf(['a', 'b"\\,{}', ''])).toBe('{"a","b\\"\\\\,{}",""}');
  });

  it('a channel has a name of at most 63 bytes', () => {
    const name = channelOf('holdfast:wake:é'.repeat(100));
    expect(name).toMatch(/^holdfast_[0-9a-f]{40}$/);
    expect(channelOf('a')).not.toBe(channelOf('b'));
  });

  it('the file of the package is the SQL of the function', () => {
    const url = new URL('../../sql/holdfast.sql', import.meta.url);
    expect(readFileSync(url, 'utf8')).toContain(`${tableSql()};\n`);
  });
});

describe('prepared statements', () => {
  it('are switched off by the first refusal of a pooler, which executed nothing', async () => {
    const prepared = new Prepared(true);
    const names: (string | undefined)[] = [];
    const run = async (name: string | undefined): Promise<string> => {
      names.push(name);
      if (name !== undefined && names.length > 1) throw error('26000');
      return 'done';
    };
    for (let turn = 0; turn < 3; turn++) {
      expect(await prepared.run('SELECT 1', 'often', run)).toBe('done');
    }
    expect(names.map((name) => name !== undefined)).toEqual([true, true, false, false]);
  });

  it('another error is not repeated', async () => {
    let runs = 0;
    const run = async (): Promise<never> => {
      runs += 1;
      throw error('57P01');
    };
    await expect(new Prepared(true).run('SELECT 1', 'often', run)).rejects.toThrow('57P01');
    expect(runs).toBe(1);
  });
});
