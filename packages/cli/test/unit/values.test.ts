/** Values of options, the time budget, and text for people. */
import { describe, expect, it } from 'vitest';
import { budgetFor, MARGIN_MS } from '../../src/budget.js';
import { split } from '../../src/program.js';
import { clusterOf, linkTo, sentinelOf } from '../../src/urls.js';
import { address, count, duration, exitCode, permits, port } from '../../src/values.js';
import { inWords, json, printable, withoutPasswords } from '../../src/view/words.js';

describe('a time', () => {
  it.each([
    ['0', 0],
    ['500ms', 500],
    ['1.5s', 1500],
    ['30s', 30_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
  ])('%s', (text, ms) => {
    expect(duration(text)).toBe(ms);
  });

  it.each(['', '5', 's', '-5s', '5 s', '5s5', '5y', '1e3s', 'Infinity'])('not "%s"', (text) => {
    expect(() => duration(text)).toThrow(/Write a time with its unit/);
  });

  it('is at most what a number can tell to the millisecond', () => {
    expect(() => duration('999999999d')).toThrow('Write a shorter time.');
  });

  it.each([
    [0, '0ms'],
    [999, '999ms'],
    [1550, '1.5s'],
    [60_000, '1m'],
    [125_000, '2m5s'],
    [5_400_000, '1h30m'],
    [172_800_000, '2d'],
  ])('%i ms is shown as %s', (ms, text) => {
    expect(inWords(ms)).toBe(text);
  });
});

describe('other values', () => {
  it('permits', () => {
    expect(permits('2/8')).toEqual({ wanted: 2, total: 8 });
    expect(permits('8')).toEqual({ wanted: 1, total: 8 });
    for (const text of ['0/8', '9/8', '2/', '/8', 'x', '0']) expect(() => permits(text)).toThrow();
  });

  it('exit codes and counts', () => {
    expect(exitCode('0')).toBe(0);
    expect(exitCode('255')).toBe(255);
    for (const text of ['256', '-1', '', 'x']) expect(() => exitCode(text)).toThrow();
    expect(count('3')).toBe(3);
    for (const text of ['0', '-1', '1.5', 'x']) expect(() => count(text)).toThrow();
  });

  it('addresses', () => {
    expect(address('4040')).toEqual({ host: '127.0.0.1', port: 4040 });
    expect(address('0.0.0.0:80')).toEqual({ host: '0.0.0.0', port: 80 });
    expect(address('[::1]:80')).toEqual({ host: '::1', port: 80 });
    for (const text of ['', 'x', '70000', 'host:']) expect(() => address(text)).toThrow();
    expect(port('4650')).toBe(4650);
    for (const text of ['', '70000', 'host:80']) expect(() => port(text)).toThrow(/Write a port/);
  });

  it('the words after the first -- are not split again', () => {
    expect(split(['run', 'k', '--', 'a', '--', '-v'])).toEqual({
      own: ['run', 'k'],
      rest: ['a', '--', '-v'],
    });
    expect(split(['ls'])).toEqual({ own: ['ls'], rest: undefined });
  });
});

describe('the URL of Sentinel', () => {
  it('leaves out the option with which a client of Sentinel may end for good', () => {
    const { client } = linkTo('redis+sentinel://a/main');
    // see the finding `client-may-end` of the doctor
    expect(client.options).toMatchObject({ name: 'main', failoverDetector: false });
  });

  it('has hosts, a master, and may have a user and a database', () => {
    expect(sentinelOf('redis+sentinel://a:1,b/main')).toEqual({
      sentinels: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26_379 },
      ],
      name: 'main',
    });
    expect(sentinelOf('redis+sentinel://me:s%40y@a,[::1]:5/main/2')).toMatchObject({
      name: 'main',
      username: 'me',
      password: 's@y',
      db: 2,
    });
  });

  it.each(['a', 'a/', '/main', 'a/main/x', 'a:x/main'])('not %s', (text) => {
    expect(() => sentinelOf(`redis+sentinel://${text}`)).toThrow(/cannot be parsed/);
  });
});

describe('the URL of a cluster', () => {
  it('has nodes, a login and TLS', () => {
    expect(clusterOf('redis+cluster://a:1,b')).toEqual({
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 6379 },
      ],
    });
    expect(clusterOf('rediss+cluster://me:s%40y@a,[::1]:5/')).toEqual({
      nodes: [
        { host: 'a', port: 6379 },
        { host: '::1', port: 5 },
      ],
      username: 'me',
      password: 's@y',
      tls: {},
    });
    expect(clusterOf('valkey+cluster://a')).toMatchObject({ nodes: [{ host: 'a' }] });
  });

  it.each(['', '/', 'me@', 'a:x', 'a,,b'])('not "%s"', (text) => {
    expect(() => clusterOf(`redis+cluster://${text}`)).toThrow(/cannot be parsed|is empty/);
  });
});

describe('the URL of a server', () => {
  it.each([
    ['redis://host/abc', 'the database of the URL is not a number: abc'],
    ['redis://host/1/2', 'not a number: 1/2'],
    ['rediss://host/1x', 'not a number: 1x'],
    ['valkey://host?db=abc', 'not a number: abc'],
    ['redis:///run/the.sock', 'a socket is named by its path'],
    ['redis://user:1234/s%25zz@host', 'the database of the URL is not a number'],
    ['redis://user:1234?db=s%zz@host', 'the database of the URL is not a number'],
    ['redis://user:12#s%zz@host', 'the database of the URL is not a number'],
    ['redis://user:s%zz@host', 'a wrong percent escape'],
    ['redis://%E4@host', 'a wrong percent escape'],
    ['redis+sentinel://:s%zz@host/main', 'a wrong percent escape'],
    ['redis+sentinel://host/ma%in', 'a wrong percent escape'],
    ['redis+cluster://:s%zz@host', 'a wrong percent escape'],
  ])('not %s', (url, message) => {
    expect(() => linkTo(url)).toThrow(message);
    expect(() => linkTo(url)).not.toThrow('s%zz');
    expect(() => linkTo(url)).toThrow(expect.objectContaining({ exitCode: 64 }) as Error);
  });

  it.each(['redis:user:s3cret@host', 'redis:/:s3cret@host', 'user:s3cret@host'])(
    'without // is not shown: %s',
    (url) => {
      expect(() => linkTo(url)).toThrow('has no // after its scheme');
      expect(() => linkTo(url)).not.toThrow('s3cret');
    },
  );

  it('loses its user and password in an error about the command line', () => {
    const text = (url: string): string => withoutPasswords(`error: unknown option '--ulr=${url}'`);
    expect(text('redis://u:s3cr@t@h')).toBe("error: unknown option '--ulr=redis://***@h'");
    expect(text('redis:u:s3cret@h')).toBe("error: unknown option '--ulr=redis:***@h'");
    expect(text('redis://h:1')).toBe("error: unknown option '--ulr=redis://h:1'");
  });

  it.each([
    ['redis://host', 0],
    ['redis://host/', 0],
    ['redis://me:s%40y@host/2', 2],
    ['redis://host?db=3', 3],
  ])('%s', (url, db) => {
    const { client } = linkTo(url);
    expect(Number((client as { options: { db?: number } }).options.db ?? 0)).toBe(db);
    client.disconnect();
  });
});

describe('the time budget', () => {
  /** Renewal at 0.6 of the ttl, then one request without an answer. */
  const detect = (ttl: number, requestTimeout: number): number => 0.6 * ttl + requestTimeout;

  it.each([4000, 5000, 10_000, 15_000, 30_000, 60_000, 86_400_000])('fits a ttl of %i', (ttl) => {
    const { killAfter, requestTimeout, reserve } = budgetFor(ttl);
    expect(detect(ttl, requestTimeout) + killAfter + MARGIN_MS).toBeLessThan(ttl);
    expect(reserve).toBe(killAfter + MARGIN_MS);
    expect(killAfter).toBeLessThanOrEqual(5000);
  });

  it('gives the whole 5 s to the default ttl of 30 s', () => {
    expect(budgetFor(30_000)).toMatchObject({ killAfter: 5000, requestTimeout: 2000 });
  });

  it('accepts the longest time that fits, and no longer one', () => {
    expect(budgetFor(10_000, 1999).killAfter).toBe(1999);
    expect(() => budgetFor(10_000, 2000)).toThrow(/does not fit into --ttl 10s/);
  });

  it('names a ttl that is accepted', () => {
    for (const killAfter of [100, 3000, 20_000]) {
      let advice = '';
      try {
        budgetFor(4000, killAfter);
      } catch (error) {
        ({ advice } = error as { advice: string });
      }
      const ttl = /--ttl (\S+)$/.exec(advice)?.[1];
      if (ttl !== undefined) expect(budgetFor(duration(ttl), killAfter).killAfter).toBe(killAfter);
      else expect(killAfter).toBe(100);
    }
    expect(() => budgetFor(3000)).toThrow(/--ttl 3s is too short/);
  });
});

describe('text of other programs', () => {
  it('cannot control the terminal', () => {
    expect(printable('a\u001b[2Jb\r\n\u009b\u202ec')).toBe('a\\x1b[2Jb\\x0d\\x0a\\x9b\\u{202e}c');
    expect(printable('rechnung:42 für Ä')).toBe('rechnung:42 für Ä');
  });

  it('cannot control the terminal as JSON, and is the same after parsing', () => {
    const key = 'a\u001b[2Jb\r\u007f\u009b2J\u202ec\u{e0001}Ä\u2028';
    const text = json({ key });
    expect(text).toBe('{"key":"a\\u001b[2Jb\\r\\u007f\\u009b2J\\u202ec\\udb40\\udc01Ä\\u2028"}');
    expect(JSON.parse(text)).toEqual({ key });
    expect(json(null)).toBe('null');
  });
});
