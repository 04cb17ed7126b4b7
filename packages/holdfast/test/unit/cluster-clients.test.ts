/** Calls on a cluster go to the client of their node, and if needed again to the cluster. */
import { describe, expect, it } from 'vitest';
import { UnknownNode } from '../../src/store/clients/cluster.js';
import { ioredisClusterPort } from '../../src/store/clients/ioredis-cluster.js';
import { nodeRedisClusterPort } from '../../src/store/clients/node-redis-cluster.js';
import type { ClientPort, ScriptCall } from '../../src/store/clients/port.js';
import { slotOf } from '../../src/store/clients/hash-slot.js';

const HALF = 8192;
const ADDRESSES = ['a:1', 'b:2'] as const;

/** A key of each of the two nodes. */
const KEYS = [0, 1].map((half) => {
  const of = (key: string): boolean => Math.floor(slotOf(key) / HALF) === half;
  return Array.from({ length: 100 }, (_, at) => `key ${at}`).find(of) as string;
}) as [string, string];

const callOf = (key: string): ScriptCall => ({ sha: 'sha', keys: [key], args: ['x'] });

interface Settings {
  readonly ready?: boolean;
  readonly keyPrefix?: string;
  readonly answer?: (key: string) => Promise<unknown>;
}

const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

/** Two nodes that record what they receive. */
function ioredis(settings: Settings): [string[], ClientPort] {
  const { ready = true, keyPrefix = '', answer = async () => 'node' } = settings;
  const log: string[] = [];
  const nodes = ADDRESSES.map((address, at) => ({
    options: { host: address[0], port: at + 1 },
    status: ready ? 'ready' : 'connecting',
    stream: { cork: () => log.push(`cork ${at}`), uncork: () => log.push(`uncork ${at}`) },
    on: () => undefined,
    evalsha: (_sha: string, _count: number, key: string) => {
      log.push(`node ${at}`);
      return answer(key);
    },
    eval: async (text: string, count: number) => log.push(`node ${at}: ${text} ${count}`),
  }));
  const client = {
    ...{ isCluster: true, options: { keyPrefix }, on: () => undefined, nodes: () => nodes },
    slots: Array.from({ length: 2 * HALF }, (_, slot) => [ADDRESSES[Math.floor(slot / HALF)]]),
    evalsha: async () => {
      log.push('cluster');
      return 'cluster';
    },
    evalshaBuffer: async () => '',
  };
  return [log, ioredisClusterPort(client as never)];
}

function nodeRedis(settings: Settings): [string[], ClientPort] {
  const { ready = true, keyPrefix = '', answer = async () => 'node' } = settings;
  const log: string[] = [];
  const masters = ADDRESSES.map((address, at) => ({
    address,
    client: {
      isReady: ready,
      sendCommand: (words: string[]) => {
        const [name, text, count] = words;
        log.push(name === 'EVAL' ? `node ${at}: ${text} ${count}` : `node ${at}`);
        return answer(words[3] as string);
      },
    },
  }));
  const client = {
    ...{ masters, _options: { keyPrefix } },
    slots: Array.from({ length: 2 * HALF }, (_, slot) => ({
      master: masters[Math.floor(slot / HALF)],
    })),
    sendCommand: async () => {
      log.push('cluster');
      return 'cluster';
    },
  };
  return [log, nodeRedisClusterPort(client as never)];
}

describe.each([
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
])('%s', (_, open) => {
  it('sends each call to its node', async () => {
    const [log, port] = open({});
    expect(await Promise.all(port.evalsha(KEYS.map(callOf)))).toEqual(['node', 'node']);
    expect(log.filter((one) => one.startsWith('node'))).toEqual(['node 0', 'node 1']);
  });

  it.each(['MOVED 1 b:2', 'ASK 1 b:2', 'TRYAGAIN later', 'CLUSTERDOWN'])(
    'leaves %s to the client of the cluster',
    async (message) => {
      const answer = async (): Promise<unknown> => {
        throw reply(`${message} `);
      };
      const [log, port] = open({ answer });
      expect(await port.evalsha([callOf(KEYS[0])])[0]).toBe('cluster');
      expect(log).toEqual(['node 0', 'cluster']);
    },
  );

  it.each(['ASK 1 b:2', 'TRYAGAIN later'])(
    'reports %s if the caller has another call for it',
    async (message) => {
      const answer = async (): Promise<unknown> => {
        throw reply(message);
      };
      const [log, port] = open({ answer });
      const call = { ...callOf(KEYS[0]), movesApart: true };
      await expect(port.evalsha([call])[0]).rejects.toThrow(message);
      expect(log).toEqual(['node 0']);
    },
  );

  it('reports other replies', async () => {
    const answer = async (): Promise<unknown> => {
      throw reply('NOSCRIPT No matching script');
    };
    const [log, port] = open({ answer });
    await expect(port.evalsha([callOf(KEYS[0])])[0]).rejects.toThrow('NOSCRIPT');
    expect(log).toEqual(['node 0']);
  });

  it('leaves the call to the client of the cluster while the node is not connected', async () => {
    const [log, port] = open({ ready: false });
    expect(await port.evalsha([callOf(KEYS[0])])[0]).toBe('cluster');
    expect(log).toEqual(['cluster']);
  });
});

describe.each([
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
])('%s sends a call that names its node', (_, open) => {
  const call: ScriptCall = { sha: 'sha', keys: [], args: ['x'], at: ADDRESSES[1] };
  const nodesIn = (log: string[]): string[] => log.filter((one) => !one.includes('cork'));

  it.each(['', 'app:'])('to this node, with the prefix "%s"', async (keyPrefix) => {
    const [log, port] = open({ keyPrefix });
    expect(port.cluster?.takesAddress).toBe(true);
    expect(await port.evalsha([call])[0]).toBe('node');
    await port.eval('text', [], ['x'], { at: ADDRESSES[1] });
    expect(nodesIn(log)).toEqual(['node 1', 'node 1: text 0']);
  });

  it.each(['MOVED 1 b:2', 'Connection is closed.'])('once: %s', async (message) => {
    const answer = async (): Promise<unknown> => {
      throw message.startsWith('MOVED') ? reply(message) : new Error(message);
    };
    const [log, port] = open({ answer });
    await expect(port.evalsha([call])[0]).rejects.toThrow(message);
    expect(nodesIn(log)).toEqual(['node 1']);
  });

  it('not while it is not connected, or unknown', async () => {
    const [log, port] = open({ ready: false });
    await expect(port.evalsha([call])[0]).rejects.toThrow(UnknownNode);
    await expect(port.eval('text', [], [], { at: ADDRESSES[1] })).rejects.toThrow(UnknownNode);
    await expect(port.evalsha([{ ...call, at: 'c:3' }])[0]).rejects.toThrow(UnknownNode);
    expect(nodesIn(log)).toEqual([]);
  });
});

describe('ioredis', () => {
  it('writes the calls of each node together', async () => {
    const [log, port] = ioredis({});
    await Promise.all(port.evalsha([...KEYS, ...KEYS].map(callOf)));
    const expected = ['cork 0', 'node 0', 'cork 1', 'node 1', 'node 0', 'node 1'];
    expect(log).toEqual([...expected, 'uncork 0', 'uncork 1']);
  });

  it('sends a call again whose connection ended, as the client does', async () => {
    const [log, port] = ioredis({
      answer: async () => {
        throw new Error('Connection is closed.');
      },
    });
    expect(await port.evalsha([callOf(KEYS[1])])[0]).toBe('cluster');
    expect(log).toEqual(['node 1', 'cluster']);
  });

  it('does not repeat a call whose time limit of the client has passed', async () => {
    const [log, port] = ioredis({
      answer: async () => {
        throw new Error('Command timed out');
      },
    });
    await expect(port.evalsha([callOf(KEYS[1])])[0]).rejects.toThrow('Command timed out');
    expect(log).toEqual(['node 1']);
  });

  it('adds the prefix of the client, which the nodes do not add', async () => {
    const keyPrefix = 'app:';
    const seen: string[] = [];
    const [log, port] = ioredis({ keyPrefix, answer: async (key) => seen.push(key) });
    await port.evalsha([callOf(KEYS[0])])[0];
    expect(seen).toEqual([`app:${KEYS[0]}`]);
    expect(log).toEqual([`node ${Math.floor(slotOf(`app:${KEYS[0]}`) / HALF)}`]);
  });
});

describe('node-redis', () => {
  it('reports a connection that ended', async () => {
    const [log, port] = nodeRedis({
      answer: async () => {
        throw new Error('Socket closed unexpectedly');
      },
    });
    await expect(port.evalsha([callOf(KEYS[1])])[0]).rejects.toThrow('Socket closed');
    expect(log).toEqual(['node 1']);
  });
});
