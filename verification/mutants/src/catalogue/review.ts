/**
 * Mistakes that this library made, and that a review by hand found. Each mutant brings one back.
 * The simulator had missed them: it did not draw the situation, or had no assertion about it.
 */
import type { Edit, Mutant } from '../mutant.js';

const sender = (find: string, replace: string): Edit => ({
  file: 'acquire/acquire-sender.js',
  find,
  replace,
});
const polls = (find: string, replace: string): Edit => ({
  file: 'acquire/poll-queues.js',
  find,
  replace,
});
const engine = (find: string, replace: string): Edit => ({
  file: 'engine/engine.js',
  find,
  replace,
});

export const REVIEW: readonly Mutant[] = [
  {
    name: 'claim window without renewal',
    mistake: 'a waiter that does not renew its lease is granted a claim window instead of its ttl',
    edits: [sender('terms.renew ? Math.ceil(longest) : terms.ttl,', 'Math.ceil(longest),')],
  },
  {
    name: 'doubt is loss',
    mistake: 'a lease that is only in doubt, because the wall clock was set, is reported lost',
    edits: [
      {
        file: 'lease/lease-state.js',
        find: "return error('HOLDFAST_UNCERTAIN', what);",
        replace: "return error('HOLDFAST_LOST', what);",
      },
    ],
    seed: 9,
  },
  {
    name: 'undefined is thrown',
    mistake: 'a run whose hold was ended by a call of its owner rejects with `undefined`',
    edits: [
      { file: 'acquire/releaser.js', find: "hold.foundLost('unlocked');", replace: ';' },
      {
        file: 'primitives/acquirer.js',
        find: 'throw lease.loss',
        replace: 'throw lease.signal.reason',
      },
    ],
    seed: 23,
  },
  {
    name: 'rejection without a listener',
    mistake: 'a condition waiter rejects before its promise is awaited, and the process ends',
    edits: [
      {
        file: 'primitives/condition.js',
        find: 'await Promise.race([from.root.extras.signalling, parked.call.promise]);',
        replace: 'await from.root.extras.signalling;',
      },
    ],
    elsewhere: 'unit/condition-aborts.test.ts',
  },
  {
    name: 'only the first thousand are polled',
    mistake: 'the store forgets the waiters of one process after the first thousand',
    edits: [polls('from < polled.length; from += POLL_MAX', 'from < 1; from += POLL_MAX')],
    rare: true,
    seed: 1055,
  },
  {
    name: 'silence is no sign of death',
    mistake: 'each dead waiter costs a claim window if subscribers cannot be counted',
    edits: [
      {
        file: 'engine/serve.js',
        find: 'if (resource.processes.isSilent(id, context.now))',
        replace: 'if (false)',
      },
    ],
    rare: true,
    seed: 236,
  },
  {
    name: 'an owner has holds without a bound',
    mistake: 'the holds of one lease are not limited, and each call reads all of them',
    edits: [
      {
        file: 'engine/serve.js',
        find: 'own.weight >= weight && own.holds.size < HOLD_LIMIT',
        replace: 'own.weight >= weight',
      },
    ],
    rare: true,
    seed: 361,
  },
  {
    name: 'waiters with an owner ask one by one',
    mistake: 'each waiter with an owner sends its own command in each claim window',
    edits: [
      polls(
        'const isKnown = channel === wake.channel && ',
        'const isKnown = channel === wake.channel && ' +
          "acquisition.request.terms.owner === '' && ",
      ),
    ],
    seed: 5,
  },
  {
    name: 'a capacity grows back',
    mistake: 'a waiter that queued before a semaphore shrank restores the larger capacity',
    edits: [engine('if (resource.idle && mayAgree)', 'if (resource.idle)')],
    rare: true,
    seed: 67,
  },
  {
    name: 'an outage is another holder',
    mistake:
      'a wait that times out while the server is down reports that another owner has the lock',
    edits: [
      { file: 'acquire/call.js', find: 'if (via.trouble !== undefined)', replace: 'if (false)' },
    ],
  },
  {
    name: 'a refused change takes effect later',
    mistake: 'a late duplicate of a refused downgrade makes a writer a reader in the store',
    edits: [
      {
        file: 'engine/resize.js',
        find: 'resource.noteChange(own, seq);',
        replace: 'seq > own.changes;',
      },
      {
        file: 'engine/resize.js',
        find: 'resource.resize(holder, weight, now);',
        replace: 'resource.noteChange(own, seq);\n    resource.resize(holder, weight, now);',
      },
    ],
    rare: true,
    seed: 259,
  },
  {
    name: 'close does not wait for requests',
    mistake: '`close` returns before the answers to requests and withdrawals that are under way',
    edits: [
      {
        file: 'acquire/core.js',
        find: 'await within(clock, 2 * settings.requestTimeout, settled);',
        replace: 'void settled;',
      },
    ],
    seed: 25,
  },
];
