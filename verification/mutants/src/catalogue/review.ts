/**
 * Mistakes that this library made, and that a review found by hand: each brings one of them back.
 * The simulator had not seen them, because it did not draw what shows them, or asserted nothing
 * about it.
 */
import type { Edit, Mutant } from '../mutant.js';

const sender = (find: string, replace: string): Edit => ({
  file: 'acquire/acquire-sender.js',
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
    mistake: 'a waiter that will not renew its lease is granted a claim window instead of its ttl',
    edits: [
      sender(
        'claim: terms.renew ? Math.min(settings.claimWindow, terms.ttl) : terms.ttl,',
        'claim: Math.min(settings.claimWindow, terms.ttl),',
      ),
    ],
  },
  {
    name: 'doubt is loss',
    mistake: 'a lease that is only in doubt, as the wall clock was set, is reported lost',
    edits: [
      {
        file: 'lease/lease-state.js',
        find: "return error('HOLDFAST_UNCERTAIN', what);",
        replace: "return error('HOLDFAST_LOST', what);",
      },
    ],
  },
  {
    name: 'undefined is thrown',
    mistake: 'a run whose hold was ended by a call of its owner rejects with `undefined`',
    edits: [
      { file: 'acquire/releaser.js', find: "record.foundLost('unlocked');", replace: ';' },
      {
        file: 'primitives/acquirer.js',
        find: 'throw lease.loss',
        replace: 'throw lease.signal.reason',
      },
    ],
  },
  {
    name: 'rejection without a listener',
    mistake: 'a waiter at a condition fails before its promise is awaited, and the process ends',
    edits: [
      {
        file: 'primitives/condition.js',
        find: 'await Promise.race([answered, conditionWaiter.promise]);',
        replace: 'await answered;',
      },
    ],
    rare: true,
  },
  {
    name: 'only the first thousand are polled',
    mistake: 'waiters of one process behind the thousandth are forgotten by the store',
    edits: [sender('from < polled.length; from += POLL_MAX', 'from < 1; from += POLL_MAX')],
    rare: true,
  },
  {
    name: 'reserved fences are kept',
    mistake: 'fences that no hand-off used run ahead of the clock, and a deleted key goes back',
    edits: [engine("if (to === '' && unpassed)", 'if (false)')],
    rare: true,
  },
  {
    name: 'a pass inherits the expiry',
    mistake: 'a lease that is handed on inside the process lasts as long as the one before',
    edits: [
      engine(
        'const expires = Math.min(holder.expires, now + ttl * 1000);',
        'const { expires } = holder;',
      ),
    ],
  },
  {
    name: 'silence is no sign of death',
    mistake: 'each dead waiter costs a claim window where subscribers cannot be counted',
    edits: [
      {
        file: 'engine/serve.js',
        find: 'if (resource.processes.isSilent(id, context.now))',
        replace: 'if (false)',
      },
    ],
    rare: true,
  },
  {
    name: 'an owner has holds without a bound',
    mistake: 'one lease has as many holds as its owner asks for, and each call reads all of them',
    edits: [
      {
        file: 'engine/serve.js',
        find: 'own.weight >= weight && own.holds.size < HOLD_LIMIT',
        replace: 'own.weight >= weight',
      },
    ],
    rare: true,
  },
  {
    name: 'waiters with an owner ask one by one',
    mistake: 'each waiter with an owner costs a command of its own in each claim window',
    edits: [
      sender(
        'if (acquisition.channel !== this.#wake.channel)',
        "if (acquisition.request.terms.owner !== '' || acquisition.channel !== this.#wake.channel)",
      ),
    ],
  },
  {
    name: 'a capacity grows back',
    mistake: 'a waiter from before a semaphore was made smaller makes it large again',
    edits: [engine('if (resource.idle && mayAgree)', 'if (resource.idle)')],
    rare: true,
  },
  {
    name: 'an outage is another holder',
    mistake: 'a wait that ends while the server is dead says that another has the lock',
    edits: [
      { file: 'acquire/wait-limit.js', find: 'if (trouble !== undefined)', replace: 'if (false)' },
    ],
  },
];
