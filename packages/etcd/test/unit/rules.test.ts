/** The meaning of errors, the options, and names in etcd. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meaningOf, noAnswer, refusal } from '../../src/failures.js';
import { base64, Names, partsOf, rangeOf, textOf, valueOf } from '../../src/keys.js';
import { endpointsOf, settingsOf } from '../../src/options.js';

const at = 'http://a:2379';
const answered = (code: number, message: string): object =>
  refusal(at, 400, JSON.stringify({ code, message }));

describe('an error of etcd', () => {
  it.each([
    ['refused', 7, 'etcdserver: permission denied'],
    ['refused', 3, 'etcdserver: request is too large'],
    ['refused', 3, 'etcdserver: user name is empty'],
    ['refused', 8, 'grpc: received message larger than max (5 vs. 4)'],
    ['transient', 8, 'etcdserver: too many requests'],
    ['transient', 14, 'etcdserver: no leader'],
    ['transient', 14, 'etcdserver: rpc not supported for learner'],
    ['transient', 16, 'etcdserver: invalid auth token'],
    ['transient', 3, 'etcdserver: revision of auth store is old'],
    ['unanswered', 14, 'etcdserver: request timed out'],
    ['unanswered', 14, 'etcdserver: leader changed'],
    // it may have been proposed before the member stopped
    ['unanswered', 14, 'etcdserver: server stopped'],
    // the change that crosses the quota is made
    ['unanswered', 8, 'etcdserver: mvcc: database space exceeded'],
    ['unanswered', 2, 'anything'],
    ['unanswered', 4, 'context deadline exceeded'],
    ['unanswered', 13, 'internal'],
  ])('%s: %i %s', (kind, code, words) => {
    expect(meaningOf(code, words)).toMatchObject({ kind });
    expect(answered(code, words)).toMatchObject({ kind });
  });

  it('has the words of etcd, the endpoint, and an advice', () => {
    expect(answered(7, 'etcdserver: permission denied')).toMatchObject({
      message: expect.stringMatching(/^http:\/\/a:2379: etcdserver: permission denied; the user/),
    });
    expect(refusal(at, 404, '404 page not found')).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/HTTP 404.*--enable-grpc-gateway/),
    });
    expect(refusal(at, 502, '<html>Bad Gateway</html>')).toMatchObject({ kind: 'unanswered' });
  });

  it('of a proxy that limits the rate of requests lets another endpoint try', () => {
    const limited = { kind: 'transient', elsewhere: true };
    expect(refusal(at, 429, 'Too Many Requests')).toMatchObject(limited);
  });

  it('of a connection that was never made lets another endpoint try', () => {
    const failed = (code: string): TypeError =>
      new TypeError('fetch failed', {
        cause: Object.assign(new Error(`words of ${code}`), { code }),
      });
    const handshakes = ['DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_SSL_WRONG_VERSION_NUMBER'];
    for (const code of ['ECONNREFUSED', 'ENOTFOUND', ...handshakes]) {
      expect(noAnswer(at, failed(code))).toMatchObject({ kind: 'unanswered', elsewhere: true });
    }
    // it may have been sent
    const records = ['DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'CIPHER_OPERATION_FAILED'];
    const answers = records.map((one) => `ERR_SSL_${one}`);
    for (const code of ['ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE', ...answers]) {
      expect(noAnswer(at, failed(code))).toMatchObject({ kind: 'unanswered', elsewhere: false });
    }
    expect(
      noAnswer(at, new DOMException('This operation was aborted', 'AbortError')),
    ).toMatchObject({
      ...{ kind: 'unanswered', elsewhere: false, message: `${at}: no answer in time` },
    });
    expect(noAnswer(at, failed('SELF_SIGNED_CERT_IN_CHAIN')).message).toMatch(/EXTRA_CA_CERTS/);
  });
});

describe('options', () => {
  it.each([
    [{ user: 'a' }, 'password'],
    [{ password: 'a' }, 'user'],
    [{ user: '', password: 'a' }, 'user'],
    [{ root: '' }, 'root'],
    [{ root: 'a\0' }, 'root'],
    [{ root: '\ud800' }, 'root'],
    [{ listen: 'yes' }, 'listen'],
    [{ timeout: 99 }, 'timeout'],
    [{ stateMax: 262_145 }, 'stateMax'],
    [{ fetch: 'fetch' }, 'fetch'],
    [{ lease: 10 }, 'lease'],
    [null, 'options'],
  ])('%j is refused', (given, option) => {
    const wrong = expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option });
    expect(() => settingsOf(given as never)).toThrow(wrong);
  });

  it.each([
    ...[[], '', 'localhost:2379', 'etcd://a:2379', 'http://a/v3', 'http://a?b', 'http://u:p@a', 1],
    ...[undefined, [['http://a']], ['http://a:2379', 'http://A:2379/']],
  ])('the endpoints %j are refused', (given) => {
    const wrong = expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option: 'endpoints' });
    expect(() => endpointsOf(given)).toThrow(wrong);
  });

  it.each([
    [() => endpointsOf([]), 'must be at least one URL, not "[]"'],
    [() => settingsOf({ user: 'a' }), '"password" must be given together with "user"'],
    [() => settingsOf({ password: 'a' }), '"user" must be given together with "password"'],
  ])('%s says what is missing', (run, words) => expect(run).toThrow(words));

  it('no message has a password', () => {
    const texts = [
      () => settingsOf({ user: 'a', password: 4711 as never }),
      () => endpointsOf('http://user:4711@a:2379'),
    ].map((make) => {
      try {
        return JSON.stringify(make());
      } catch (error) {
        return (error as Error).message;
      }
    });
    for (const text of texts) expect(text).not.toContain('4711');
  });

  it('endpoints have no slash at the end', () => {
    expect(endpointsOf('http://A:2379/')).toEqual(['http://a:2379']);
    expect(endpointsOf(['https://a', 'https://b:443'])).toEqual(['https://a', 'https://b']);
  });
});

describe('keys', () => {
  const text = fc.string({ unit: 'binary' }).filter((one) => Buffer.from(one).toString() === one);

  it('a range has all keys with its prefix, and no others', () => {
    fc.assert(
      fc.property(text, text, text, (prefix, rest, other) => {
        const { key, range_end } = rangeOf(`r${prefix}`);
        const within = (name: string): boolean =>
          Buffer.compare(Buffer.from(name), Buffer.from(key, 'base64')) >= 0 &&
          Buffer.compare(Buffer.from(name), Buffer.from(range_end, 'base64')) < 0;
        expect(within(`r${prefix}${rest}`)).toBe(true);
        expect(within(`r${other}`)).toBe(other.startsWith(prefix));
      }),
    );
  });

  it('states and values come back, and no channel is within another one', () => {
    const names = new Names('root/');
    fc.assert(
      fc.property(text, fc.nat(), (one, time) => {
        expect(names.keyOf(names.state(one))).toBe(one);
        expect(textOf(base64(one))).toBe(one);
        expect(partsOf(valueOf(one, time))).toEqual({ state: one, forgetAt: time });
      }),
    );
    expect(names.messages('a/b').startsWith(names.messages('a'))).toBe(false);
  });
});
