/** The exit codes of errors. */
import { HoldfastError } from 'holdfast';
import { expect, it } from 'vitest';
import { EXIT, failureOf } from '../../src/failure.js';

it.each([
  "NOPERM User locks has no permissions to run the 'evalsha' command",
  "ERR The user executing the script can't run this command, on @user_script:22.",
  'ERR ACL failure in script: User locks has no permissions to run the hset command',
])('a missing right ends with "access denied": %s', (reply) => {
  const cause = new Error(reply);
  const message = `Holdfast: "k" was refused by the server: ${reply}`;
  const error = new HoldfastError('HOLDFAST_REFUSED', message, { key: 'k', cause });
  expect(failureOf(error).exitCode).toBe(EXIT.denied);
});

it.each(['EACCES', 'EPERM'])('a missing right at a file ends with it too: %s', (code) => {
  const denied = Object.assign(new Error(`${code}: permission denied`), { code });
  const exit = (cause: Error): number => {
    const message = `Holdfast: "k" was refused by the server: ${cause.message}`;
    return failureOf(new HoldfastError('HOLDFAST_REFUSED', message, { key: 'k', cause })).exitCode;
  };
  expect(exit(new Error('locks.db', { cause: denied }))).toBe(EXIT.denied);
  expect(exit(new Error('locks.db'))).toBe(EXIT.unavailable);
});
