/** A client that gives replies to the wrong commands: no such reply is believed. */
import { describe, expect, it } from 'vitest';
import type { ClientPort, ScriptCall } from '../../../src/store/clients/port.js';
import type { KeyCommand, Reply } from '../../../src/engine/commands.js';
import { OutOfStep } from '../../../src/store/port.js';
import { provenPort } from '../../../src/store/redis/proven-port.js';
import { RedisStore } from '../../../src/store/redis/redis-store.js';
import { free, take } from '../../support/cluster-store.js';

/** A reply, or an error reply. */
type Made = { readonly reply: unknown } | { readonly error: Error };

/**
 * A client whose server runs `run` for each call. It gives each command the reply to the command
 * `shift` places later, as node-redis does after a reset.
 */
class ShiftingClient {
  shift = 0;
  /** How often the text of a script was sent. */
  texts = 0;
  readonly #run: (args: readonly string[]) => Made;
  readonly #made: Made[] = [];
  readonly #waiting: ((made: Made) => void)[] = [];

  constructor(run: (args: readonly string[]) => Made) {
    this.#run = run;
  }

  readonly port: ClientPort = {
    ...({ name: 'node-redis', client: {}, keyPrefix: '', writesLater: true } as const),
    evalsha: (calls: readonly ScriptCall[]) => calls.map(({ args }) => this.#send(args)),
    eval: (source, _, args) => {
      this.texts += 1;
      return source === 'return ARGV[1]'
        ? this.#send(args, { reply: args[0] })
        : this.#send(args, undefined);
    },
    scan: () => Promise.reject(new Error('no scan')),
    subscribe: () => Promise.reject(new Error('no channel')),
    connection: () => undefined,
    isReply: (error) => /^[A-Z]+ /.test((error as Error).message),
    state: () => undefined,
  };

  #send(args: readonly string[], made = this.#run(args)): Promise<unknown> {
    const answer = new Promise((resolve, reject) => {
      this.#waiting.push((one) => {
        if ('error' in one) reject(one.error);
        else resolve(one.reply);
      });
    });
    this.#made.push(made);
    while (this.#made.length > this.shift) {
      this.#made.splice(0, this.shift);
      this.shift = 0;
      this.#waiting.shift()?.(this.#made.shift() as Made);
    }
    return answer;
  }
}

const proofOf = (args: readonly string[]): string => args.at(-1) as string;
const call = (...args: string[]): ScriptCall => ({ sha: 'sha', keys: ['k'], args });

/** The outcomes of promises that may be open: `undefined` if one is. */
async function settled(answers: readonly Promise<unknown>[]): Promise<unknown[]> {
  const late = new Promise((resolve) => setImmediate(() => resolve(undefined)));
  return Promise.all(answers.map((one) => Promise.race([one.catch((error) => error), late])));
}

describe('replies of scripts', () => {
  const echoing = (): ShiftingClient =>
    new ShiftingClient((args) => ({ reply: [proofOf(args), ['list', args[0]]] }));

  it('are believed with the proof of their request', async () => {
    const number = new ShiftingClient((args) => ({ reply: `${proofOf(args)} 1700000000000123` }));
    const [answer] = provenPort(number.port).evalsha([call('a')]);
    expect(await answer).toBe(1_700_000_000_000_123);
    const lists = provenPort(echoing().port);
    expect(await Promise.all(lists.evalsha([call('a'), call('b')]))).toEqual([
      ['list', 'a'],
      ['list', 'b'],
    ]);
    expect(await lists.eval('text', ['k'], ['c'])).toEqual(['list', 'c']);
    expect(lists.proofs.isOutOfStep).toBe(false);
  });

  it('are not believed if they belong to other requests, also to the same command', async () => {
    const client = echoing();
    const port = provenPort(client.port);
    client.shift = 1;
    const calls = Array.from({ length: 4 }, () => call('same'));
    const [first, second, third, last] = await settled(port.evalsha(calls));
    for (const one of [first, second, third]) expect(one).toBeInstanceOf(OutOfStep);
    expect(last).toBeUndefined();
    expect(port.proofs.isOutOfStep).toBe(true);
  });

  it.each([
    ['a number', 1_700_000_000_000_123],
    ['a text', 'text'],
    ['a text that begins like the proof', (proof: string) => `${proof}0 1`],
    ['the proof alone', (proof: string) => proof],
    ['a list', ['granted', 1]],
    ['a longer list', (proof: string) => [proof, 1, 2]],
    ['nothing', null],
  ])('are not believed without proof: %s', async (_, made) => {
    const client = new ShiftingClient((args) => ({
      reply: typeof made === 'function' ? made(proofOf(args)) : made,
    }));
    const [answer] = provenPort(client.port).evalsha([call('a')]);
    await expect(answer).rejects.toBeInstanceOf(OutOfStep);
  });

  it('in a transaction of the program pass, and have an error of their own', async () => {
    const client = new ShiftingClient(() => ({ reply: 'QUEUED' }));
    expect(await provenPort(client.port).evalsha([call('a')])[0]).toBe('QUEUED');
  });
});

describe('error replies', () => {
  const failing = (message: string): ShiftingClient =>
    new ShiftingClient(() => ({ error: new Error(message) }));

  it('are believed if a probe shows that the client is in step', async () => {
    const client = failing('OOM memory');
    const [answer] = provenPort(client.port).evalsha([call('a')]);
    await expect(answer).rejects.toThrow('OOM memory');
    expect(client.texts).toBe(1);
  });

  it('are not believed if the probe gets the reply to another command', async () => {
    const client = new ShiftingClient((args) =>
      args[0] === 'bad'
        ? { error: new Error("ERR unknown subcommand 'SETINFO'") }
        : { reply: [proofOf(args), 1] },
    );
    const port = provenPort(client.port);
    client.shift = 1;
    const [answer, late] = port.evalsha([call('a'), call('bad')]);
    const believed = expect(answer).rejects.toBeInstanceOf(OutOfStep);
    await settled([]);
    // the probe gets the reply to a later call
    await settled([late as Promise<unknown>, ...port.evalsha([call('b')])]);
    await believed;
  });

  it('are believed if the same error answers the probe', async () => {
    const { port } = failing('LOADING data');
    const refused = { ...port, eval: () => Promise.reject(new Error('LOADING more data')) };
    const [answer] = provenPort(refused).evalsha([call('a')]);
    await expect(answer).rejects.toThrow('LOADING data');
  });

  it('before the end of the connection pass on that end: the client is in step', async () => {
    const { port } = failing('READONLY You can not write against a replica');
    const ended = { ...port, eval: () => Promise.reject(new Error('Socket closed unexpectedly')) };
    const proven = provenPort(ended);
    const [answer] = proven.evalsha([call('a')]);
    await expect(answer).rejects.toThrow('Socket closed unexpectedly');
    expect(proven.proofs.isOutOfStep).toBe(false);
  });

  it('that a script is unknown need no probe', async () => {
    const client = failing('NOSCRIPT no matching script');
    const [answer] = provenPort(client.port).evalsha([call('a')]);
    await expect(answer).rejects.toThrow('NOSCRIPT');
    expect(client.texts).toBe(0);
  });

  it('of the connection pass', async () => {
    const client = failing('read ECONNRESET');
    const [answer] = provenPort(client.port).evalsha([call('a')]);
    await expect(answer).rejects.toThrow('read ECONNRESET');
    expect(client.texts).toBe(0);
  });
});

describe('a store whose client is out of step', () => {
  const commands: readonly KeyCommand[] = [take('a'), free('b', 'a'), free('c', 'a'), take('d')];

  it('answers no command, and says so', async () => {
    const client = new ShiftingClient((args) => ({ reply: `${proofOf(args)} 5` }));
    const store = new RedisStore(client.port, '');
    client.shift = 1;
    const [first, ...others] = await settled(commands.flatMap((one) => store.execute([one])));
    for (const one of [first, ...others.slice(0, 2)]) {
      expect(one).toMatchObject({ name: 'OutOfStep', kind: 'unanswered' });
    }
    expect(others[2]).toBeUndefined();
    expect(store.trouble()).toContain('node-redis gave this command the reply to another one');
  });

  it('answers each command if it is in step (control)', async () => {
    const client = new ShiftingClient((args) => ({ reply: `${proofOf(args)} 5` }));
    const store = new RedisStore(client.port, '');
    const [granted, freed] = await Promise.all<Reply>(
      commands.slice(0, 2).flatMap((one) => store.execute([one])),
    );
    expect([granted?.status, freed?.status]).toEqual(['granted', 'freed']);
    expect(store.trouble()).toBeUndefined();
  });
});
