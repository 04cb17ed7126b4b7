/** The lock of another library believes only the replies to its own requests. */
import { expect, it } from 'vitest';
import { OldLock } from '../../../src/instance/migrate/old-lock.js';
import type { ClientPort } from '../../../src/store/clients/port.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** A server whose client makes this of each answer: its proof and its number. */
function server(reply: (proof: string, vote: number) => unknown, vote = 1): ClientPort {
  return {
    name: 'ioredis',
    isReply: () => false,
    eval: async (_source: string, _keys: readonly string[], args: readonly string[]) =>
      reply(args.at(-1) as string, vote),
  } as unknown as ClientPort;
}

const FORMAT = { take: 'return 1', renew: 'return 1', release: 'return 1' };

/** The outcome of each call: 0, 1, or the kind of the failure. */
async function votes(...ports: ClientPort[]): Promise<unknown[]> {
  const lock = new OldLock(ports, FORMAT, 'k');
  const clock = new VirtualClock();
  const calls = [
    lock.take(clock, 100, 'me', 1000),
    lock.renew(clock, 100, 'me', 1000),
    lock.release(clock, 100, 'me'),
  ];
  return Promise.all(calls.map((call) => call.catch((error: { kind: string }) => error.kind)));
}

const answer = (proof: string, vote: number): string => `${proof} ${vote}`;

it.each([0, 1])('believes %s with the proof of the request (control)', async (vote) => {
  expect(await votes(server(answer, vote))).toEqual([vote, vote, vote]);
});

it.each([
  ['a number', 1],
  ['no', 0],
  ['a text', 'PONG'],
  ['a number as text, as ioredis gives it with stringNumbers', '0'],
  ['the answer to another request', '! 1'],
  ['nothing', null],
])('has no answer without the proof: %s', async (_, reply) => {
  const none = Array.from({ length: 3 }, () => 'unanswered');
  expect(await votes(server(() => reply))).toEqual(none);
});

it('is refused inside a transaction', async () => {
  expect(await votes(server(() => 'QUEUED'))).toEqual(['refused', 'refused', 'refused']);
});

it('has no answer if the result is no vote', async () => {
  const none = Array.from({ length: 3 }, () => 'unanswered');
  expect(await votes(server((proof) => `${proof} 2`))).toEqual(none);
});

it('of several servers, one that is out of step has no vote', async () => {
  const wrong = (): ClientPort => server(() => 'PONG');
  expect(await votes(server(answer, 0), server(answer, 0), wrong())).toEqual([0, 0, 0]);
  const none = Array.from({ length: 3 }, () => 'unanswered');
  expect(await votes(server(answer), wrong(), wrong())).toEqual(none);
});
