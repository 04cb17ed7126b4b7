/**
 * Whether one server has the keys of all resources, so that a call may name several ([decision
 * 25](../../../../../docs/decisions/0025-several-mutexes-in-a-call.md)); behind a proxy that
 * shards, none has. A mark is written, and many calls on the same connection, each with another
 * key, look for it. Until the result each command has its own call.
 *
 *     unknown --commands for a call--> asked --all have seen the mark--> one server
 *        ^                               |---one has not-------------> several servers
 *        |---------------a second later--/ an error, or no answer
 *
 * A new connection begins with "unknown": it may lead elsewhere.
 */
import { createHash, randomBytes } from 'node:crypto';
import { systemClock } from '../../base/clock.js';
import type { ClientPort } from '../clients/port.js';
import { isNoScript } from './error-replies.js';
import { mainKeyOf } from './keys.js';
import { provable } from './proven-port.js';

/**
 * Two servers with equal shares pass for one with a probability of 2^-64; if one has nine tenths of
 * the keys, in one of 850 tests.
 */
const LOOKS = 64;
const PAUSE_MS = 1000;

/** The script writes the mark without a name, otherwise it looks for it. */
const LOOK = provable(`
if ARGV[1] then return redis.call('EXISTS', ARGV[1]) end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 's', 1)
redis.call('PEXPIREAT', KEYS[1], time[1] * 1000 + 10000)
return 1
`);

/** `sha` is that of the first one. */
export const ONE_SERVER: { readonly sha: string; readonly look: string; readonly removal: string } =
  {
    sha: createHash('sha1').update(LOOK).digest('hex'),
    look: LOOK,
    removal: provable(`return redis.call('DEL', KEYS[1])`),
  };

export class OneServer {
  readonly #client: ClientPort;
  readonly #prefix: string;
  #connection: unknown;
  #result: 'unknown' | 'asked' | 'one' | 'several' = 'unknown';
  #notBefore = 0;

  constructor(client: ClientPort, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  /** Begins a test if that is unknown. */
  isProven(): boolean {
    const connection = this.#client.connection();
    if (connection !== this.#connection) {
      this.#connection = connection;
      this.#result = 'unknown';
      this.#notBefore = 0;
    }
    const asks = this.#result === 'unknown' && this.#client.state() === undefined;
    if (asks && systemClock.now() >= this.#notBefore) void this.#ask(connection);
    return this.#result === 'one';
  }

  async #ask(connection: unknown): Promise<void> {
    this.#result = 'asked';
    let result: 'unknown' | 'one' | 'several';
    try {
      result = (await this.#isOne()) ? 'one' : 'several';
    } catch (error) {
      // the script reached another server than its text
      result = isNoScript(error) ? 'several' : 'unknown';
    }
    if (connection !== this.#connection || connection !== this.#client.connection()) return;
    this.#result = result;
    this.#notBefore = systemClock.now() + PAUSE_MS;
  }

  async #isOne(): Promise<boolean> {
    const client = this.#client;
    const { sha, look, removal } = ONE_SERVER;
    const test = randomBytes(8).toString('hex');
    // no main record's name, which would be listed
    const names = Array.from({ length: LOOKS + 1 }, (_, at) =>
      mainKeyOf(this.#prefix, `one server ${test} ${at}`).concat(':m'),
    );
    const [mark = '', ...others] = names;
    const written = client.eval(look, [mark], []);
    const args = [client.keyPrefix + mark];
    const looks = client.evalsha(others.map((name) => ({ sha, keys: [name], args })));
    const removed = client.eval(removal, [mark], []);
    const seen = await Promise.all([written, ...looks, removed]);
    return seen.every((count) => Number(count) === 1);
  }
}
