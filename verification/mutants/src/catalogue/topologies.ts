/** Mistakes about what a server, a replica or a connection proves. */
import type { Edit, Mutant } from '../mutant.js';

const acknowledged = (find: string, replace: string): Edit => ({
  file: 'store/redis/acknowledged-port.js',
  find,
  replace,
});

export const TOPOLOGIES: readonly Mutant[] = [
  {
    name: 'acknowledged in another life',
    mistake: 'with `replicas`, a grant counts at a master that was started again without its data',
    edits: [acknowledged('if (!this.#guarded)', 'if (this.#guarded || !this.#guarded)')],
    elsewhere: 'server/replicas.test.ts: a master that starts again before a fail-over',
  },
  {
    name: 'age by the start alone',
    mistake:
      'a replica that copied a master without memory counts as old, because it runs for long',
    edits: [
      {
        file: 'store/redis/memory-age.js',
        find: 'local from = now\n',
        replace: 'local from = start\n',
      },
    ],
    elsewhere: 'server/replicas.test.ts: a master that starts again before a fail-over',
  },
  {
    name: 'a silent channel is believed',
    mistake: 'a wake connection that died silently stays, and all grants are found by polling',
    edits: [
      {
        file: 'store/wake-channel.js',
        find: 'if (came === false &&',
        replace: 'if (came === null &&',
      },
    ],
    elsewhere: 'unit/store/wake-channel.test.ts: is replaced',
  },
  {
    name: 'a lost channel keeps its settings',
    mistake: 'a wake connection that is down is never opened anew: it keeps an old password',
    edits: [
      {
        file: 'store/wake-channel.js',
        find: 'if (!this.#up && this.#channel !== undefined',
        replace: 'if (this.#up && this.#channel !== undefined',
      },
    ],
    elsewhere: 'unit/store/wake-channel.test.ts: is replaced when it is down for long',
  },
  {
    name: 'a silent client under Sentinel stays',
    mistake: 'a client that asks sentinels for its master is not examined when it has no answer',
    edits: [
      {
        file: 'store/redis/redis-store.js',
        find: 'const silent = this.#client',
        replace: 'const silent = left ? undefined : this.#client',
      },
    ],
    elsewhere: 'server/sentinel.silent.test.ts',
  },
  {
    name: 'a blocking command counts as silence',
    mistake: 'a client that waits for BLPOP is taken for dead, and its connection is ended',
    edits: [
      {
        file: 'store/clients/silence.js',
        find: "!/^eval(sha)?$/i.test(head?.name ?? '')",
        replace: 'head === undefined',
      },
    ],
    elsewhere: 'server/silent-connections.test.ts: is left alone while a blocking command',
  },
  {
    name: 'a client that looks for its master is ended',
    mistake: 'a silent connection is ended while the client asks its sentinels: it ends for good',
    edits: [
      {
        file: 'store/clients/silence.js',
        find: "oldest(client) !== head || client.status !== 'ready'",
        replace: 'oldest(client) !== head',
      },
    ],
    elsewhere: 'server/sentinel.silent.test.ts: is left alone while it looks for its master',
  },
  {
    name: 'a margin without effect',
    mistake: 'a holder believes for the whole time that the store keeps the lease, with its margin',
    edits: [
      {
        file: 'store/requests.js',
        find: 'margin === 0 ? raw : narrowed(raw, margin)',
        replace: 'raw',
      },
    ],
    elsewhere: 'unit/clock-margin.test.ts',
  },
  {
    name: 'a deadline that begins at the call',
    mistake: 'the time a request waits for its turn counts: a burst fails at a server that is well',
    edits: [
      {
        file: 'store/requests.js',
        find: 'request.deadline = now + request.limit;',
        replace: 'request.deadline = (request.posted || now) + request.limit;',
      },
    ],
    elsewhere: 'unit/store/backlog.test.ts: have a deadline that begins when they are sent',
  },
  {
    name: 'an end overtakes its key',
    mistake: 'a release goes before an acquisition of its key that was asked for earlier',
    edits: [
      {
        file: 'store/backlog.js',
        find: 'Math.max(rank, this.waiting.get(key)?.rank ?? rank)',
        replace: 'rank',
      },
    ],
    elsewhere: 'unit/store/backlog.test.ts: the order of those that wait',
  },
  {
    name: 'a lease from before its request waited',
    mistake: 'the time a request waits for its turn is taken from its lease',
    edits: [
      {
        file: 'acquire/acquisition.js',
        find: 'this.askedAt = this.#sender.parts.suspend.moment();',
        replace: '',
      },
    ],
    elsewhere: 'unit/store/backlog.test.ts: does not lose time of its lease to a long turn',
  },
];
