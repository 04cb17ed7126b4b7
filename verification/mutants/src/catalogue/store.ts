/** Mistakes of the store. */
import type { Edit, Mutant } from '../mutant.js';
import { SCRIPTS } from '../plant.js';

const engine = (find: string, replace: string): Edit => ({
  file: 'engine/engine.js',
  find,
  replace,
});
const resource = (find: string, replace: string): Edit => ({
  file: 'engine/resource.js',
  find,
  replace,
});
const serve = (find: string, replace: string): Edit => ({ file: 'engine/serve.js', find, replace });

export const STORE: readonly Mutant[] = [
  {
    name: 'release without compare',
    mistake: 'a release ends any lease of the key (`DEL key` without a check of the owner)',
    edits: [
      engine(
        'const holder = resource.leaseOf(id, now);\n    let status;',
        [
          'const holder = resource.leaseOf(id, now) ?? [...resource.holders.values()][0];',
          '    let status;',
        ].join('\n'),
      ),
    ],
  },
  {
    name: 'not idempotent',
    mistake: 'a repeated acquire queues behind itself (`SET NX` on a client that resends)',
    edits: [
      engine(
        'const held = resource.leaseOf(wanted.id, now);\n    // a waiter is served',
        'const held = undefined;\n    // a waiter is served',
      ),
    ],
    rare: true,
  },
  {
    name: 'fence from a lost counter',
    mistake: 'fences start from the value in the store (`INCR` on a server without persistence)',
    edits: [
      resource('const fence = Math.max(this.fence + 1, now)', 'const fence = this.fence + 1'),
    ],
  },
  {
    name: 'expired holders count',
    mistake: 'the weight of an expired holder is never freed (a semaphore as a counter)',
    edits: [resource('count += 1 + holder.holds.size;', 'count += 1; this.used += holder.weight;')],
  },
  {
    name: 'renewal revives',
    mistake:
      'a renewal creates a new lease when the lease is gone (`SET` or `PEXPIRE` by a watchdog)',
    edits: [
      {
        file: 'engine/renew.js',
        find: `if (holder === undefined)
        return { status: 'absent', now, left: 0 };
    return { status: 'renewed'`,
        replace: `if (holder === undefined) {
        const asked = { id, ttl, owner: '', weight: 1, channel: '', meta: '{}', fair: true };
        resource.grant(asked, now, ttl);
        return { status: 'renewed', now, left: ttl * 1000 };
    }
    return { status: 'renewed'`,
      },
    ],
  },
  {
    name: 'release does not serve',
    mistake: 'a release frees the lock and wakes no waiter; polling repairs it, slowly',
    edits: [
      engine(
        `serve(resource, context, '');
    resource.touch(now, retention);
    return { status, now, holds`,
        'resource.touch(now, retention);\n    return { status, now, holds',
      ),
    ],
  },
  {
    name: 'forced release does not serve',
    mistake:
      'an unlock by an administrator wakes no waiter (Redisson before `forceUnlock` published)',
    edits: [
      {
        file: 'engine/force-release.js',
        find: `serve(resource, context, '');
    resource.touch(now, retention);
    return { status: 'forced'`,
        replace: "resource.touch(now, retention);\n    return { status: 'forced'",
      },
    ],
  },
  {
    name: 'stale queue head',
    mistake: 'the latest waiter is served first (the last to poll wins)',
    edits: [serve('resource.queue.at(0)', 'resource.queue.at(resource.queue.size - 1)')],
    seed: 3,
  },
  {
    name: 'dead waiter is not skipped',
    mistake: 'a grant goes to a dead process, and blocks the lock until its lease ends',
    edits: [serve("channel !== '' && context.receivers(channel) === 0", 'false')],
    seed: 10,
  },
  {
    name: 'withdrawal leaves the queue alone',
    mistake: 'an abandoned acquisition stays in the queue, and is granted in turn',
    edits: [engine("withdraw(resource, id) ? 'dequeued'", "false ? 'dequeued'")],
  },
  {
    name: 'over the capacity',
    mistake: 'one permit too many is granted (a comparison that is off by one)',
    edits: [resource('this.used + weight <= this.capacity', 'this.used <= this.capacity')],
  },
  {
    name: 'replies without proof',
    mistake: 'the reply to any call of a script is believed (all clients, before decision 28)',
    edits: [
      {
        file: 'store/redis/proven-port.js',
        find: 'if (raw.startsWith(`${proof} `))',
        replace: "return Number(raw.split(' ')[1]);",
      },
      {
        file: 'store/redis/proven-port.js',
        find: 'raw.length === 2 && raw[0] === proof',
        replace: 'raw.length === 2',
      },
    ],
    elsewhere: 'unit/store/proven-port.test.ts',
  },
  {
    name: 'several servers pass for one',
    mistake: 'a call for several mutexes goes to the server of the first one (behind twemproxy)',
    edits: [
      {
        file: 'store/redis/one-server.js',
        find: 'seen.every((count) => Number(count) === 1)',
        replace: 'seen.length > 0',
      },
    ],
    elsewhere: 'server/sharding-proxy.test.ts',
  },
  {
    name: 'a replica answers for its master',
    mistake: 'a script that knows no lease says so on a server that may not write',
    edits: [
      {
        file: SCRIPTS,
        find: "if not seen then redis.call('HDEL', resource, '') end",
        replace: '',
        every: true,
      },
    ],
    elsewhere: 'server/replica-answers.test.ts',
  },
  {
    name: 'repeated while it is on its way',
    mistake: 'a call that the client gave up is sent again, and the second reply is believed',
    edits: [
      {
        file: 'store/clients/ioredis-cluster.js',
        find: 'if (isLost(error) || isForCluster(call, error))',
        replace: 'if (!isErrorReply(error) || isForCluster(call, error))',
      },
    ],
    elsewhere: 'unit/cluster-clients.test.ts',
  },
  {
    name: 'three keys in a half-moved slot',
    mistake: 'a call names keys that no node has together (TRYAGAIN until the move ends)',
    edits: [
      {
        file: 'store/redis/redis-store.js',
        find: 'if (call.movesApart === true && isMoving(error))',
        replace: 'if (false)',
      },
    ],
    elsewhere: 'server/cluster.half-moved.test.ts',
  },
];
