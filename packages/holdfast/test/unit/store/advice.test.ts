/** What an error reply of the server says about what to do. */
import { expect, it } from 'vitest';
import { parts } from '../../../src/store/redis/generated/script-texts.js';
import { adviceFor } from '../../../src/store/redis/advice.js';

const refused = { prefix: 'app:', keyPrefix: 'all:', script: 'release' } as const;
const LINES = parts.release.join('').split('\n');
/** How the server names the first line that matches. */
const line = (pattern: RegExp): string =>
  `@user_script:${LINES.findIndex((text) => pattern.test(text)) + 1}`;
const inScript =
  "ERR The user executing the script can't run this command or subcommand script: ab";

it.each([
  ["READONLY You can't write against a read only replica.", /connect the client to the primary/],
  ['CLUSTERDOWN Hash slot not served', /CLUSTER INFO/],
  ['MOVED 12 127.0.0.1:7001', /client of the cluster/],
  ['MISCONF Errors writing to the AOF file', /its disk/],
  ['OOM command not allowed', /maxmemory/],
  ['LOADING Redis is loading', /when it is ready/],
  ['NOAUTH Authentication required.', /user name and password/],
  ["NOPERM this user has no permissions to run the 'evalsha' command", /needs \+evalsha;/],
  ["ERR ACL failure in script: User u has no permissions to run the 'hset' command", / \+hset;/],
  ['NOPERM this user has no permissions to access one of the keys used', /needs ~all:app:\*;/],
  ['NOPERM No permissions to access a key', /needs ~all:app:\*;/],
  ['NOPERM No permissions to access a channel', /needs &app:wake:\*;/],
  [`${inScript}, on ${line(/call\('TIME'/)}.`, /needs \+time;/],
  [`${inScript}, on ${line(/pcall\('PUBSUB','NUMSUB'/)}.`, /needs \+pubsub\|numsub;/],
  [`${inScript}, on ${line(/^local [a-zA-Z,]+=ARGV/)}.`, /needs more rights;/],
  [inScript, /needs more rights;/],
])('%s', (message, advice) => {
  expect(adviceFor(message, refused)).toMatch(advice);
});

it.each(['ERR unknown command', 'WRONGTYPE Operation', '', 'a client says so'])(
  'says nothing about "%s"',
  (message) => {
    expect(adviceFor(message, refused)).toBe('');
  },
);
