/** The kinds of failures that the error replies of a server mean. */
import { describe, expect, it } from 'vitest';
import { isErrorReply } from '../../../src/store/clients/errors.js';
import { isRefusal, StoreFailure, UnreadableRecord } from '../../../src/store/port.js';
import { failureOf, isNoScript } from '../../../src/store/redis/error-replies.js';

const PASSING = ['LOADING', 'READONLY', 'MASTERDOWN', 'BUSY', 'TRYAGAIN', 'CLUSTERDOWN'];

it.each([...PASSING, 'NOREPLICAS', 'MISCONF', 'NOAUTH', 'WRONGPASS'])('%s may pass', (code) => {
  const failure = failureOf(new Error(`${code} the server says so`), true);
  expect(failure).toMatchObject({ kind: 'transient', answered: true });
  expect(isRefusal(failure)).toBe(false);
});

it.each(['OOM command not allowed', 'NOPERM no permissions', 'ERR unknown', 'LOADINGS', ''])(
  '"%s" is refused each time',
  (message) => {
    const failure = failureOf(new Error(message), true);
    expect(failure).toMatchObject({ kind: 'refused', answered: true });
    expect(isRefusal(failure)).toBe(true);
  },
);

/** As they are in the sources of the proxies. */
const OUTAGES = {
  twemproxy: ['ERR Connection refused', 'ERR Connection timed out', 'ERR Broken pipe'],
  'twemproxy, other': ['ERR No route to host', 'ERR Connection reset by peer', 'ERR unknown'],
  dynomite: ['ERR Storage: Connection refused', 'ERR Peer: Connection timed out'],
  Envoy: ['upstream failure', 'no upstream host', 'upstream protocol error'],
  'Envoy with a code': ['ERR upstream failure', 'ERR no upstream host'],
  Predixy: ['ERR no server avaliable', 'ERR no server connection avaliable'],
  'Predixy, other': ['ERR server connection close', 'ERR deliver request fail'],
  Codis: [
    'ERR handle response, backend conn reset',
    'ERR handle response, backend conn failure, EOF',
    'ERR handle request, slot is not ready, may be offline',
    'ERR router is not online',
  ],
  Corvus: ['ERR Proxy error', 'ERR Proxy fail to forward command', 'ERR Proxy timed out'],
  'redis-cluster-proxy': ['ERR Cluster node disconnected', 'ERR Failed to read from cluster'],
};

describe.each(Object.entries(OUTAGES))('an outage that %s tells', (_, texts) => {
  it.each(texts)('"%s" is no answer', (text) => {
    for (const name of ['ReplyError', 'SimpleError']) {
      expect(isErrorReply(Object.assign(new Error(text), { name }))).toBe(false);
    }
  });
});

it.each([
  'ERR unknown command',
  'ERR upstreams',
  'ERR handle request, command is not allowed',
  'ERR Proxy fail to parse command',
  'ERR user_script:3: Connection refused',
  'NOPERM no server',
])('"%s" is an answer', (text) => {
  expect(isErrorReply(Object.assign(new Error(text), { name: 'ReplyError' }))).toBe(true);
});

it('an error that is no reply says nothing, with any message', () => {
  const failure = failureOf(new Error('LOADING'), false);
  expect(failure).toMatchObject({ kind: 'unanswered', answered: false });
  expect(isRefusal(failure)).toBe(false);
  expect(isRefusal(new Error('OOM'))).toBe(false);
});

it.each(['WRONGTYPE Operation', 'ERR user_script:12: bad', 'user_script:3: bad'])(
  '"%s" shows a record that cannot be read',
  (message) => {
    const failure = failureOf(new Error(message), true);
    expect(failure).toBeInstanceOf(UnreadableRecord);
    expect(failure).toBeInstanceOf(StoreFailure);
    expect(isRefusal(failure)).toBe(true);
  },
);

it('only NOSCRIPT asks for the text of a script', () => {
  expect(isNoScript(new Error('NOSCRIPT No matching script.'))).toBe(true);
  expect(isNoScript(new Error('ERR NOSCRIPT'))).toBe(false);
  expect(isNoScript('NOSCRIPT')).toBe(false);
});
