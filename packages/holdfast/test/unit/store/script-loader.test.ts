/** Calls of a script that the server does not know: the text is sent once. */
import { beforeEach, expect, it } from 'vitest';
import type { ClientPort, ScriptCall } from '../../../src/store/clients/port.js';
import { ScriptLoader } from '../../../src/store/redis/script-loader.js';

const NOSCRIPT = new Error('NOSCRIPT No matching script');
const LOADED = Promise.resolve('return 1');
const SCRIPT = { text: 'return 1', load: (): Promise<string> => LOADED };
const call = (name: string, sha = 'sha'): ScriptCall => ({ sha, keys: [name], args: [] });

/** What was sent, in order: `text` or `sha`, and the key. */
let sent: string[];
/** The batches of EVALSHA. */
let batches: number;
/** The answers that the next commands get; without one they succeed. */
let errors: Map<string, Error>;
let held: (() => void)[];
let hold: boolean;
let loader: ScriptLoader;

function answer(how: string, name: string): Promise<unknown> {
  sent.push(`${how} ${name}`);
  const error = errors.get(`${how} ${name}`);
  errors.delete(`${how} ${name}`);
  return new Promise((resolve, reject) => {
    const settle = (): void => (error === undefined ? resolve(`${how} ${name}`) : reject(error));
    if (hold) held.push(settle);
    else settle();
  });
}

beforeEach(() => {
  [sent, batches, errors, held, hold] = [[], 0, new Map(), [], false];
  const client: Pick<ClientPort, 'eval' | 'evalsha'> = {
    eval: (_, [name = '']) => answer('text', name),
    evalsha: (calls) => {
      batches += 1;
      return calls.map(({ keys: [name = ''] }) => answer('sha', name));
    },
  };
  loader = new ScriptLoader(client as ClientPort);
});

const repeat = (...calls: ScriptCall[]): Promise<unknown[]> =>
  Promise.all(calls.map((one) => loader.repeat(one, SCRIPT)));

it('sends the text with the first call, and the others behind it in one batch', async () => {
  expect(await repeat(call('a'), call('b'), call('c'))).toEqual(['text a', 'sha b', 'sha c']);
  expect(batches).toBe(1);
});

it('sends the text of each script', async () => {
  await repeat(call('a'), call('b', 'other'), call('c', 'other'));
  expect(sent).toEqual(['text a', 'text b', 'sha c']);
});

it('sends the text again when the script is unknown after the answer', async () => {
  await repeat(call('a'));
  await repeat(call('b'));
  expect(sent).toEqual(['text a', 'text b']);
});

it('sends no second text while the first has no answer', async () => {
  hold = true;
  const all = [...Array(3).keys()].map((at) => loader.repeat(call(`k${at}`), SCRIPT));
  await Promise.resolve();
  all.push(loader.repeat(call('late'), SCRIPT));
  await Promise.resolve();
  expect(sent).toEqual(['text k0', 'sha k1', 'sha k2', 'sha late']);
  for (const settle of held) settle();
  await Promise.all(all);
});

it('sends the text with a call that finds the script unknown again', async () => {
  errors.set('sha b', NOSCRIPT);
  expect(await repeat(call('a'), call('b'), call('c'))).toEqual(['text a', 'text b', 'sha c']);
});

it('a failure of the call with the text does not affect the others', async () => {
  errors.set('text a', new Error('connection lost'));
  const [first, second] = await Promise.allSettled([
    loader.repeat(call('a'), SCRIPT),
    loader.repeat(call('b'), SCRIPT),
  ]);
  expect(first).toMatchObject({ status: 'rejected', reason: { message: 'connection lost' } });
  expect(second).toEqual({ status: 'fulfilled', value: 'sha b' });
  await repeat(call('d'));
  expect(sent).toEqual(['text a', 'sha b', 'text d']);
});

it('passes other errors on', async () => {
  errors.set('sha b', new Error('WRONGTYPE'));
  await expect(repeat(call('a'), call('b'))).rejects.toThrow('WRONGTYPE');
});
