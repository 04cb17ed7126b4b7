/** What an error reply of the server says about what to do. */
import { expect, it } from 'vitest';
import { adviceFor } from '../../../src/store/redis/advice.js';

const SOURCE = ["local a = redis.call('TIME')", "redis.call('PUBSUB', 'NUMSUB', x)", 'run(it)'];
const refused = { prefix: 'app:', keyPrefix: 'all:', source: SOURCE.join('\n') };
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
  [`${inScript}, on @user_script:1.`, /needs \+time;/],
  [`${inScript}, on @user_script:2.`, /needs \+pubsub\|numsub;/],
  [`${inScript}, on @user_script:3.`, /needs more rights;/],
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
