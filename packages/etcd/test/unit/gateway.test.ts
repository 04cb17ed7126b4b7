/** Requests over a `fetch` that answers what a test wants. */
import { until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import { EtcdRegister } from '../../src/etcd-register.js';
import type { FetchFunction } from '../../src/index.js';
import { settingsOf } from '../../src/options.js';

const endpoints = ['http://a:1', 'http://b:1', 'http://c:1'];
const change = { state: 'x', forgetAt: 1e16, messages: [] };
const text = JSON.stringify({ header: { revision: '7' }, succeeded: true });

type Answer = { status?: number; text: string } | Error;

/** A register, and the requests that it makes for transactions. */
function made(...answers: Answer[]): { register: EtcdRegister; asked: string[] } {
  const asked: string[] = [];
  const fetch: FetchFunction = async (url) => {
    const date = new Date().toUTCString();
    const answered = (status: number, body: string): ReturnType<FetchFunction> =>
      Promise.resolve({
        ...{ status, headers: { get: () => date }, text: async () => body, body: null },
      });
    if (url.endsWith('/version')) return answered(200, '{}');
    asked.push(new URL(url).host);
    const answer = answers.shift() ?? { text };
    if (answer instanceof Error) throw answer;
    return answered(answer.status ?? 200, answer.text);
  };
  return { register: new EtcdRegister(endpoints, settingsOf({ fetch })), asked };
}

const broken = (code: string): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
const refused = (code: number, message: string): Answer => {
  return { status: 400, text: JSON.stringify({ code, message }) };
};

it('answers without a Date are the trouble, and a finding', async () => {
  const fetch: FetchFunction = async () => {
    return { status: 200, headers: { get: () => null }, text: async () => text, body: null };
  };
  const register = new EtcdRegister(['http://a:1'], settingsOf({ fetch }));
  const reading = register.read('k').catch((error: unknown) => error);
  await until(() => register.trouble()?.includes('http://a:1: the answer has no header Date'));
  const findings = await register.examine();
  expect(findings).toContainEqual(
    expect.objectContaining({
      code: 'etcd:no-clock',
      evidence: expect.stringContaining('no header Date'),
    }),
  );
  expect(await reading).toMatchObject({ kind: 'unanswered' });
  await register.close();
});

describe('a swap', () => {
  it.each([
    ['that was never sent', broken('ECONNREFUSED')],
    ['that a member without a leader refused', refused(14, 'etcdserver: no leader')],
  ])('%s goes to another member', async (_, answer) => {
    const { register, asked } = made(answer);
    expect(await register.swap('k', '1', change)).toMatchObject({ version: '7' });
    expect(new Set(asked).size).toBe(2);
    await register.close();
  });

  it.each([
    ['without an answer', broken('ECONNRESET')],
    ['that timed out in etcd', refused(14, 'etcdserver: request timed out')],
    ['whose member stopped', refused(14, 'etcdserver: server stopped')],
    ['whose answer is that of a proxy', { text: '{}' }],
    ['whose answer is no JSON', { text: '<html>' }],
    ['that a proxy failed', { status: 502, text: 'Bad Gateway' }],
  ])('%s is sent once, and is not called lost', async (_, answer) => {
    const { register, asked } = made(answer);
    await expect(register.swap('k', '1', change)).rejects.toMatchObject({ kind: 'unanswered' });
    expect(asked).toHaveLength(1);
    // the next request goes elsewhere
    await register.read('k');
    expect(new Set(asked).size).toBe(2);
    await register.close();
  });

  it('of several is not called lost if its part of the answer is missing', async () => {
    const { register } = made({ text: JSON.stringify({ header: {}, succeeded: true }) });
    const swaps = ['a', 'b'].map((key) => register.swap(key, '1', change));
    for (const { reason } of (await Promise.allSettled(swaps)) as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ kind: 'unanswered' });
    }
    await register.close();
  });
});

it('a read without an answer is repeated elsewhere', async () => {
  const { register, asked } = made(broken('ECONNRESET'), refused(14, 'etcdserver: leader changed'));
  expect(await register.read('k')).toMatchObject({ state: '', version: '0' });
  expect(new Set(asked).size).toBe(3);
  await register.close();
});
