/** Calls for several mutexes at the nodes of a cluster that answers as the test wants. */
import { describe, expect, it } from 'vitest';
import { UnknownNode } from '../../../src/store/clients/cluster.js';
import type { ClientPort, ClusterView, ScriptCall } from '../../../src/store/clients/port.js';
import { RedisStore } from '../../../src/store/redis/redis-store.js';
import { scripts } from '../../../src/store/redis/generated/scripts.js';
import { slotOf } from '../../../src/store/redis/hash-slot.js';
import { free, take } from '../../support/cluster-store.js';

const ADDRESSES = ['a:1', 'b:2'];
const addressOf = (slot: number): string => ADDRESSES[slot < 8192 ? 0 : 1] as string;

/** Keys of the first node. */
const KEYS = Array.from({ length: 20 }, (_, at) => `key ${at}`).filter(
  (key) => slotOf(`{${key}}`) < 8192,
);

type Answer = (call: ScriptCall) => unknown;

/** A client that records the calls. Calls that name no node release or take what they ask for. */
class FakeClient {
  readonly calls: ScriptCall[] = [];
  lost = 0;
  readonly port: ClientPort;

  constructor(answer: Answer, view: Partial<ClusterView> = {}) {
    const reply = async (call: ScriptCall): Promise<unknown> => {
      // without the proof, which the reply repeats
      const args = call.args.slice(0, -1);
      this.calls.push({ ...call, args });
      const made = call.at === undefined ? single(call) : answer({ ...call, args });
      return [call.args.at(-1), made];
    };
    const cluster = {
      ...{ takesAddress: true, masters: () => ADDRESSES, masterOf: addressOf },
      ...{ refresh: async () => undefined, ...view },
    };
    this.port = {
      ...{ name: 'fake', client: {}, keyPrefix: '', writesLater: false, cluster },
      connection: () => this.lost,
      evalsha: (calls: readonly ScriptCall[]) => calls.map(reply),
      // a probe after an error reply
      eval: async (_: string, __: unknown, [proof]: readonly string[]) => proof,
      isReply: (error: unknown) => (error as Error).name === 'ReplyError',
      state: () => undefined,
    } as unknown as ClientPort;
  }

  get named(): ScriptCall[] {
    return this.calls.filter(({ at }) => at !== undefined);
  }
}

const single = ({ sha }: ScriptCall): unknown =>
  sha === scripts.release.sha ? ['absent', '5'] : '5';
const reply = (text: string): Error => Object.assign(new Error(text), { name: 'ReplyError' });
const failing =
  (error: Error): Answer =>
  () => {
    throw error;
  };

async function taken(client: FakeClient, store = new RedisStore(client.port, '')) {
  const replies = await Promise.all(store.execute(KEYS.map((key) => take(key))));
  return replies.map(({ status }) => status);
}
const granted = KEYS.map(() => 'granted');

describe('a call for several mutexes', () => {
  it('names its node, a control of another node at first, and no key', async () => {
    const client = new FakeClient(() => ['5']);
    const store = new RedisStore(client.port, '');
    expect(await taken(client, store)).toEqual(granted);
    expect(await taken(client, store)).toEqual(granted);
    const [first, second] = client.calls as [ScriptCall, ScriptCall];
    expect(client.calls).toHaveLength(2);
    expect([first.at, first.keys, second.at, second.keys]).toEqual(['a:1', [], 'a:1', []]);
    expect(addressOf(slotOf(first.args[4] as string))).toBe('b:2');
    expect(second.args[4]).toBe('');
    expect(first.args.slice(5, 5 + KEYS.length)).toEqual(KEYS.map((key) => `{${key}}`));
  });

  it.each([
    reply('MOVED 1 b:2'),
    reply('CLUSTERDOWN The cluster is down'),
    reply('LOADING the data'),
    new UnknownNode('a:1'),
  ])('%s: single calls follow', async (error) => {
    const client = new FakeClient(failing(error));
    expect(await taken(client)).toEqual(granted);
    expect(client.named).toHaveLength(1);
    expect(client.calls).toHaveLength(1 + KEYS.length);
  });

  it('a connection that ended: as the client, which sends nothing again', async () => {
    const client = new FakeClient(failing(new Error('Socket closed unexpectedly')));
    await expect(taken(client)).rejects.toMatchObject({ kind: 'unanswered' });
    expect(client.calls).toHaveLength(1);
  });

  it('a connection that ended: as the client, which sends commands again', async () => {
    const client: FakeClient = new FakeClient(() => {
      client.lost += 1;
      throw new Error('Connection is closed.');
    });
    expect(await taken(client)).toEqual(granted);
    const store = new RedisStore(client.port, '');
    // the first call may have released them
    for (const answer of store.execute(KEYS.map((key) => free(key, 'a')))) {
      await expect(answer).rejects.toMatchObject({ kind: 'unanswered' });
    }
  });

  it('a node that does not refuse the control has done nothing: three attempts', async () => {
    const client = new FakeClient(() => 0);
    const store = new RedisStore(client.port, '');
    for (let round = 0; round < 5; round++) expect(await taken(client, store)).toEqual(granted);
    expect(client.named).toHaveLength(3);
    expect(client.calls).toHaveLength(3 + 5 * KEYS.length);
    expect(new Set(client.named.map(({ args }) => args[4])).size).toBe(3);
  });

  it('a cluster that is down says nothing of its nodes', async () => {
    let down = true;
    const client = new FakeClient(() => (down ? -1 : ['5']));
    const store = new RedisStore(client.port, '');
    for (let round = 0; round < 5; round++) expect(await taken(client, store)).toEqual(granted);
    expect(client.named).toHaveLength(5);
    down = false;
    for (let round = 0; round < 2; round++) expect(await taken(client, store)).toEqual(granted);
    expect(client.named.map(({ args }) => args[4] !== '')).toEqual([...Array(6).fill(true), false]);
  });

  it('calls of one turn that are not refused count once', async () => {
    let refused = false;
    const client = new FakeClient(() => (refused ? ['5'] : 0));
    const store = new RedisStore(client.port, '');
    const turn = [1000, 2000, 3000, 4000, 5000].flatMap((ttl, at) =>
      KEYS.slice(2 * at, 2 * at + 2).map((key) => take(key, 'a', { ttl })),
    );
    await Promise.all(store.execute(turn));
    expect(client.named).toHaveLength(5);
    refused = true;
    expect(await taken(client, store)).toEqual(granted);
    expect(client.named).toHaveLength(6);
  });

  it('a node with all slots gets one of its own keys as control', async () => {
    const client = new FakeClient(() => 0, { masterOf: () => 'a:1' });
    expect(await taken(client)).toEqual(granted);
    expect(client.named[0]?.args[4]).toBe('{0}');
  });

  it.each([{ takesAddress: false }, { masterOf: () => undefined }])(
    'none with %j of the client',
    async (view) => {
      const client = new FakeClient(() => ['5'], view);
      expect(await taken(client)).toEqual(granted);
      expect(client.named).toEqual([]);
    },
  );
});
