import { prefixOf, scriptWords } from './common.js';
import { isErrorReply } from './errors.js';
import type { MasterFinder } from './master-commands.js';
import { subscribeOnce } from './node-redis-subscription.js';
import type { ClientPort, ScriptCall } from './port.js';
import { notReady } from './state.js';
import { scanPage } from './scan.js';

/** A Sentinel client of node-redis 5 or 6: `createSentinel({ name, sentinelRootNodes: […] })`. */
export interface NodeRedisSentinelLike extends MasterFinder {
  getSentinelNode(): unknown;
  off(event: 'topology-change', listener: (change: { type: string }) => void): unknown;
}

/**
 * Without a time limit, the client waits for a frozen server's handshake, and does not hear the
 * sentinels.
 */
const LOOKING =
  'looking for the master; a frozen server would be one reason that it waits: set ' +
  'nodeClientOptions: { socket: { socketTimeout: 5000 }, pingInterval: 1000 }';

export function nodeRedisSentinelPort(client: NodeRedisSentinelLike): ClientPort {
  const keyPrefix = prefixOf((client as { _keyPrefix?: unknown })._keyPrefix);
  // only this client needs it
  const commands = import('./master-commands.js').then((file) => file.MasterCommands.of(client));
  const send = (
    words: string[],
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> =>
    commands.then((one) => one.send(scriptWords(words, keyPrefix, keys, args)));
  return {
    name: 'node-redis',
    client,
    keyPrefix,
    writesLater: true,

    evalsha: (calls: readonly ScriptCall[]) =>
      calls.map(({ sha, keys, args }) => send(['EVALSHA', sha], keys, args)),

    eval: (source, keys, args) => send(['EVAL', source], keys, args),

    scan: (...page) => scanPage(async (words) => (await commands).send(words), ...page),

    // the client does not replace its connection, see `sentinel`
    subscribe: () => Promise.reject(new Error('a Sentinel client cannot subscribe')),

    // a command is repeated only after READONLY, when it was not executed
    connection: () => client,

    isReply: isErrorReply,

    state() {
      const { isOpen, isReady } = client as { isOpen?: boolean; isReady?: boolean };
      if (isOpen === undefined || isReady === true) return undefined;
      const state = isOpen ? LOOKING : 'not connected: call "await client.connect()" first';
      return { closed: !isOpen, text: notReady(client, state, { path: 'sentinel' }) };
    },

    sentinel: {
      subscribe: async (channel, listener) =>
        subscribeOnce(await (await commands).master(), channel, listener),
      onChange(changed) {
        const listener = ({ type }: { type: string }): void => {
          if (type === 'MASTER_CHANGE') changed();
        };
        client.on('topology-change', listener);
        return () => void client.off('topology-change', listener);
      },
    },
  };
}
