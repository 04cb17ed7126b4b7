/**
 * Mistakes that tests found first. Without a seed, the simulator does not draw the calls, or its
 * server has no connections.
 */
import type { Mutant } from '../mutant.js';

export const TESTED: readonly Mutant[] = [
  {
    name: 'a fair group takes a new place after each grant',
    mistake:
      'a fair waiter of another process that came later is granted before the rest of a group',
    edits: [
      {
        file: 'acquire/acquisition.js',
        find: 'queue.ticket || FIRST_TICKET',
        replace: 'Math.min(this.storeTime, hold.fence) - 1',
      },
    ],
    world: 'register',
    seed: 2,
  },
  {
    name: 'the wait of a task counts as its clock says',
    mistake: 'a task that waited in a process with a fast clock overtakes a fair waiter',
    edits: [{ file: 'acquire/root-queue.js', find: ' * (1 - DRIFT)', replace: '' }],
    seed: 542,
  },
  {
    name: 'an answer before its receipt is lost',
    mistake: 'the commands of an acquisition wait until another process may not answer any more',
    edits: [
      {
        file: 'store/quorum/quorum-peers.js',
        find: 'this.#answers.set(number, answer)',
        replace: 'undefined',
      },
    ],
    elsewhere: 'unit/store/quorum-early-answers.test.ts',
  },
  {
    name: 'a wait at a condition forgets the rest of a group',
    mistake: 'the rest of a fair group asks after the parking, and loses its place',
    edits: [
      {
        file: 'acquire/conditions/conditions.js',
        find: 'roots.askBefore(from.root);',
        replace: '',
      },
    ],
    world: 'register',
    seed: 2,
  },
  {
    name: 'rare polls without messages',
    mistake: 'on a store without messages a short lock is idle for a quarter of a claim window',
    edits: [
      { file: 'store/wake-channel.js', find: "this.#channel?.name === ''", replace: 'false' },
    ],
    elsewhere: 'unit/polling.test.ts',
  },
  {
    name: 'no pause without messages',
    mistake: 'each of a thousand waiters at a store without messages polls four times a second',
    edits: [
      { file: 'acquire/poll-queues.js', find: '(wake.mute && !queue.asleep)', replace: 'false' },
    ],
    elsewhere: 'unit/polling.test.ts',
  },
  {
    name: 'a poll begins with a kept state',
    mistake: 'a poll among others loses its first swap, and pauses',
    edits: [
      {
        file: 'store/register/proposals.js',
        find: '(resource?.processes.all.size ?? 0) > 1',
        replace: 'false',
      },
    ],
    elsewhere: 'unit/polling.test.ts',
  },
  {
    name: 'the place of a task counts from the earliest time',
    mistake: 'a task that waited in its process overtakes a fair waiter that came first',
    edits: [
      {
        file: 'store/register/apply.js',
        find: 'command.waited - Math.ceil(late / 1000)',
        replace: 'command.waited',
      },
    ],
    world: 'register',
    seed: 316,
  },
  {
    name: 'a late process overtakes no one',
    mistake: 'a process that loses each race for a state never joins the queue',
    edits: [
      {
        file: 'store/register/proposals.js',
        find: 'lost < LOST_MAX',
        replace: 'lost < 99',
      },
    ],
    elsewhere: 'unit/store/register-overtake.test.ts',
  },
  {
    name: 'a lock is given away under another run',
    mistake: 'a condition releases the lease of a reentrant `run` that goes on',
    edits: [
      { file: 'primitives/condition.js', find: 'if (beside > 0)', replace: 'if (beside > 99)' },
    ],
    elsewhere: 'unit/shared-runs.test.ts',
  },
  {
    name: 'a condition leaves the old lock',
    mistake: 'a lease that also holds the lock of another library waits at a condition without it',
    edits: [{ file: 'primitives/condition.js', find: 'if (lease.besides)', replace: 'if (false)' }],
    elsewhere: 'server/migration.test.ts',
  },
  {
    name: 'a closed connection is kept for WAIT',
    mistake: 'the first call after the server has closed the connection rejects',
    edits: [
      {
        file: 'store/redis/acknowledged-port.js',
        find: 'if (this.#opened === opened)',
        replace: 'if (this.#opened !== opened)',
      },
    ],
    elsewhere: 'server/replicas.test.ts: opens the connection again that the server has closed',
  },
  {
    name: 'pauses that do not grow',
    mistake: 'many processes that ask a register at once spoil the tries of each other',
    edits: [{ file: 'store/register/pauses.js', find: '(lastMs * (', replace: '(0 * (' }],
    elsewhere: 'unit/store/register-crowd.test.ts',
  },
  {
    name: 'no known master',
    mistake: 'commands wait for the sentinels although the master serves (node-redis, hole 86)',
    edits: [
      {
        file: 'store/clients/master-commands.js',
        find: 'if (known?.isReady !== true)',
        replace: 'if (known !== null)',
      },
    ],
    elsewhere: 'server/sentinel.absent.test.ts',
  },
  {
    name: 'no limit for a handshake',
    mistake: 'the opening of a wake channel of node-redis has no time limit (hole 87)',
    edits: [
      {
        file: 'store/clients/node-redis-subscription.js',
        find: '() => reject(late)',
        replace: '() => undefined',
      },
    ],
    elsewhere: 'server/frozen-server.test.ts',
  },
  {
    name: 'a second more of memory',
    mistake: 'a master that started 0.2 s ago counts as one that started 1 s ago',
    edits: [
      {
        file: 'store/redis/memory-age.js',
        find: "tonumber(field('uptime_in_seconds')) + 1)",
        replace: "tonumber(field('uptime_in_seconds')))",
      },
    ],
    elsewhere: 'server/memory-age.test.ts',
  },
  {
    name: 'a promoted replica is as old as its marker',
    mistake: 'a server that started as a replica from a snapshot has the age of the master before',
    edits: [
      {
        file: 'store/redis/memory-age.js',
        find: 'math.max(now - known, start)',
        replace: 'now - known',
      },
    ],
    elsewhere: 'server/memory-age.test.ts',
  },
  {
    name: 'a replica that is away ends the candidature',
    mistake: '`lead` rejects while too few replicas acknowledge, and no process leads afterwards',
    edits: [
      {
        file: 'primitives/election.js',
        find: "isHoldfastError(error, 'HOLDFAST_UNACKNOWLEDGED')",
        replace: 'false',
      },
    ],
    elsewhere: 'unit/election.test.ts',
  },
  {
    name: 'a method refuses no nested call',
    mistake: "a method with `reentrant: 'refuse'` that calls itself waits for its own lock",
    edits: [
      {
        file: 'primitives/locked.js',
        find: "lock.reentrant === true || lock.reentrant === 'refuse'",
        replace: 'lock.reentrant === true',
      },
    ],
    elsewhere: 'unit/locked.test.ts',
  },
  {
    name: 'any process may unlock',
    mistake: '`ownerLocks.unlock` ends a lease in which another process believes',
    edits: [
      {
        file: 'primitives/owner-locks.js',
        find: '(own || id.endsWith(MADE_HERE))',
        replace: '(own || id.length > 0)',
      },
    ],
    elsewhere: 'unit/owner-locks.test.ts',
  },
  {
    name: 'no marker during close',
    mistake: 'a scheduled run that ends well while its instance closes is reported as `unfinished`',
    edits: [
      {
        file: 'primitives/markers.js',
        find: 'closing: true',
        replace: 'closing: false',
      },
    ],
    elsewhere: 'unit/schedule.test.ts',
  },
  {
    name: 'channels before the masters are known',
    mistake: '`warmUp` as the first call of a cluster client rejects',
    edits: [
      {
        file: 'store/redis/cluster-channels.js',
        find: "await this.#view.refresh('');",
        replace: 'await undefined;',
      },
    ],
    elsewhere: 'server/cluster.half-moved.test.ts: warmUp may be the first call',
  },
  {
    name: 'a client that goes on to try',
    mistake: 'a client that repeats TRYAGAIN gets calls with three keys of a half-moved slot',
    edits: [
      {
        file: 'store/redis/redis-store.js',
        find: 'if (triesAgain && call.movesApart === true)',
        replace: 'if (false)',
      },
    ],
    elsewhere: 'server/cluster.half-moved.test.ts',
  },
  {
    name: 'an address that natMap has not translated',
    mistake: 'after a redirection ioredis itself routes the calls, and repeats them (TRYAGAIN)',
    edits: [
      {
        file: 'store/clients/ioredis-cluster.js',
        find: 'if (!natMap || known.has(address))',
        replace: 'if (true)',
      },
    ],
    elsewhere: 'server/cluster.half-moved.test.ts',
  },
  {
    name: 'a call without an answer is followed by another',
    mistake: 'a release of a half-moved lock is sent twice, and "absent" is believed',
    edits: [
      {
        file: 'store/redis/redis-store.js',
        find: 'if (failed)',
        replace: 'if (true)',
      },
    ],
    elsewhere: 'unit/store/half-moved.test.ts',
  },
  {
    name: 'a vote of any server',
    mistake: 'a client that is led to another member gives that server a second vote',
    edits: [
      {
        file: 'store/quorum/acceptor-script.js',
        find: 'if not from or boot ~= marker[1] or not',
        replace: 'if not from or not',
      },
    ],
    elsewhere: 'server/quorum.addresses.test.ts',
  },
  {
    name: 'a renewal shortens an extension of the other lock',
    mistake: 'a renewal that is sent beside an extension asks the other library for its ttl only',
    edits: [
      { file: 'instance/migrate/old-hold.js', find: ', this.#wanted - sent.at)', replace: ')' },
    ],
    elsewhere: 'unit/migrate/old-hold.test.ts',
  },
  {
    name: 'no last question',
    mistake: 'a call that no push can reach misses a lock that became free since its first answer',
    edits: [{ file: 'acquire/call.js', find: '(heard && !deaf)', replace: 'heard' }],
    elsewhere: 'unit/wait-ends.test.ts: a wait of about two round trips',
  },
  {
    name: 'a wait limit that passes at a flight that no push can reach',
    mistake: 'the caller gives up without asking whether the computation has ended',
    edits: [
      {
        file: 'primitives/flight.js',
        find: '!this.#replied || this.#ask?.() === true',
        replace: '!this.#replied',
      },
    ],
    world: 'register',
    seed: 132,
  },
  {
    name: 'no time for the keys behind the awaited one',
    mistake: 'several locks are given up although a reply for the rest of them is under way',
    edits: [
      {
        file: 'primitives/multi-acquire.js',
        find: 'await this.#ask(this.#left > 0 ? count : all)',
        replace: 'this.#left > 0 && (await this.#ask(count))',
      },
    ],
    world: 'register',
    seed: 96,
  },
  {
    name: 'a flight in the context of its first caller',
    mistake: 'a computation enters a reentrant mutex that another caller of its process holds',
    edits: [
      {
        file: 'primitives/single-flight.js',
        find: 'context.runInAsyncScope(() => inside.run(computation, given, lease))',
        replace: 'inside.run(computation, given, lease)',
      },
    ],
    elsewhere: 'unit/flights.test.ts: joined the flight of another caller',
  },
  {
    name: 'the other lock is believed without proof',
    mistake: 'a reply to another command counts as a grant of the other library (hole 120)',
    edits: [
      { file: 'instance/migrate/old-lock.js', find: 'ports.map(provenPort)', replace: 'ports' },
      {
        file: 'instance/migrate/old-lock.js',
        find: 'port.eval(withProof(script)',
        replace: 'port.eval(script',
      },
      { file: 'instance/migrate/old-lock.js', find: 'answer === 1', replace: 'answer !== 0' },
    ],
    elsewhere: 'unit/migrate/old-lock.test.ts',
  },
  {
    name: 'adopted twice at once',
    mistake: 'two calls of adopt with one text have the lease, and one releases it (hole 121)',
    edits: [{ file: 'handover.js', find: 'ids.has(id) || ', replace: '' }],
    elsewhere: 'unit/adopt.test.ts: adopts a lease once',
  },
  {
    name: 'adopted beside a close',
    mistake: 'a closed instance has a lease that it neither renews nor releases (hole 122)',
    edits: [
      {
        file: 'handover.js',
        find: 'another process may have it\n        isOpen();',
        replace: 'another process may have it',
      },
    ],
    elsewhere: 'unit/adopt.test.ts: no lease is held after the close',
  },
  {
    name: 'polls wait for their turn',
    mistake: 'a burst of calls breaks the barriers of its own process (hole 142)',
    edits: [
      { file: 'store/backlog.js', find: ', poll: AT_ONCE', replace: ', poll: ASKS' },
      { file: 'store/backlog.js', find: 'atOnce ? AT_ONCE : ', replace: '' },
    ],
    elsewhere: 'unit/store/backlog.test.ts: breaks no barrier',
  },
  {
    name: 'what ends something always goes first',
    mistake: 'count-downs in a loop keep all acquisitions from being sent (hole 144)',
    edits: [
      {
        file: 'store/backlog.js',
        find: 'ask.posted + LATER < end.posted',
        replace: 'ask.posted < 0',
      },
    ],
    elsewhere: 'unit/store/backlog.test.ts: puts what asks before',
  },
];
