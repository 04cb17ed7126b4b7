/** The kinds of failures that the error replies of a server mean. */
import { expect, it } from 'vitest';
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
