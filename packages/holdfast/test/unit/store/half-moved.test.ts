/** A lock in a slot that moves: the call with three keys is refused, another one follows. */
import { describe, expect, it } from 'vitest';
import type { Release } from '../../../src/engine/commands.js';
import type { ClientPort, ClusterView, ScriptCall } from '../../../src/store/clients/port.js';
import { isErrorReply } from '../../../src/store/clients/errors.js';
import { StoreFailure } from '../../../src/store/port.js';
import { scripts } from '../../../src/store/redis/generated/scripts.js';
import { RedisStore } from '../../../src/store/redis/redis-store.js';

const RELEASE: Release = { op: 'release', key: 'k', id: 'a', retention: 60_000 };
const MOVES = replied('TRYAGAIN Multiple keys request during rehashing of slot');

function replied(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** A store whose client rejects each call in turn. */
function storeWith(errors: readonly Error[]): [sent: string[], store: RedisStore] {
  const sent: string[] = [];
  const cluster: Partial<ClusterView> = { masterOf: () => 'host:1', masters: () => ['host:1'] };
  const answer = (call: string): Promise<unknown> => {
    sent.push(call);
    return Promise.reject(errors[sent.length - 1] ?? new Error('no more calls were expected'));
  };
  const port: Partial<ClientPort> = {
    ...{ name: 'test', keyPrefix: '', cluster: cluster as ClusterView, isReply: isErrorReply },
    connection: () => port,
    state: () => undefined,
    evalsha: (calls) => calls.map((call) => answer(nameOf(call))),
    // an error reply is believed after a probe, which has one key
    eval: async (_, { length }, args) => (length === 1 ? args[0] : answer(`text, ${length} keys`)),
  };
  return [sent, new RedisStore(port as ClientPort, 'r:')];
}

function nameOf({ sha, keys }: ScriptCall): string {
  const name = Object.entries(scripts).find(([, script]) => script.sha === sha)?.[0];
  return `${name}, ${keys.length} keys`;
}

describe('a release', () => {
  const failure = async (store: RedisStore): Promise<unknown> =>
    (store.execute([RELEASE])[0] as Promise<unknown>).catch((error: unknown) => error);

  it('that may have been executed is not followed by another call', async () => {
    const [sent, store] = storeWith([MOVES, new Error('Socket closed unexpectedly')]);
    expect(await failure(store)).toMatchObject({ kind: 'unanswered' });
    expect(sent).toEqual(['release, 3 keys', 'releaseMany, 1 keys']);
  });

  it('whose further keys are necessary has its own call, also with the text', async () => {
    const [sent, store] = storeWith([MOVES, MOVES, replied('NOSCRIPT No matching script'), MOVES]);
    const error = await failure(store);
    expect(error).toBeInstanceOf(StoreFailure);
    expect(error).toMatchObject({ kind: 'transient' });
    expect(sent).toEqual([
      ...['release, 3 keys', 'releaseMany, 1 keys', 'release, 3 keys', 'text, 3 keys'],
    ]);
  });
});
