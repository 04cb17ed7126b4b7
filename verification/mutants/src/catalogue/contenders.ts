/** Mistakes of the help between processes that contend for a key of a quorum (decision 33). */
import type { Mutant } from '../mutant.js';

export const CONTENDERS: readonly Mutant[] = [
  {
    name: 'a lease in doubt lets others pass',
    mistake: 'a poll that asks for a lease waits until the process that changes the key is done',
    edits: [
      {
        file: 'store/register/patience.js',
        find: 'return command.patience > 0;',
        replace: 'return true;',
      },
    ],
    elsewhere: 'quorum-contenders.test.ts',
  },
  {
    name: 'an owner lets others pass for long',
    mistake: 'an acquisition with an owner, which cannot be left, waits for thousands of grants',
    edits: [
      {
        file: 'store/register/pending.js',
        find: 'mayLeave(pending) ? TRIES_MAX : UNHELPED_TRIES_MAX',
        replace: 'TRIES_MAX',
      },
    ],
    elsewhere: 'quorum-contenders.test.ts',
  },
  {
    name: 'a slow answer sets the clock back',
    mistake: 'a lease that was over for one command is not over for the next',
    edits: [{ file: 'store/quorum/server-clocks.js', find: 'if (!isSlow)', replace: 'if (true)' }],
    elsewhere: 'server-clocks.test.ts',
  },
  {
    name: 'a command that was left is applied late',
    mistake: 'the owner applies a command whose sender repeats it by now',
    edits: [
      {
        file: 'store/register/pending.js',
        find: 'if (errand === undefined || errand.until >= latest)',
        replace: 'if (true)',
      },
    ],
    elsewhere: 'pending.test.ts',
  },
  {
    name: 'a command that was left is repeated at once',
    mistake: 'its sender does not wait until the owner may not apply it any more',
    edits: [
      {
        file: 'store/quorum/quorum-peers.js',
        find: 'while (this.#left.has(number) && this.#members.now <= until)',
        replace: 'while (false)',
      },
    ],
    elsewhere: 'quorum-peers.test.ts',
  },
  {
    name: 'nothing looks after commands that were left',
    mistake: 'a command that was left to a process that has ended waits until its time is over',
    edits: [{ file: 'store/register/left-commands.js', find: 'this.#events.look();', replace: '' }],
    elsewhere: 'quorum-hand-off.test.ts',
  },
  {
    name: 'an answer without a proof',
    mistake: 'a client that may publish answers a command that was left',
    edits: [
      {
        file: 'store/quorum/quorum-peers.js',
        find: 'if (!isProven(this.#parts.secret, `${number} ${answer}`, proof))',
        replace: 'if (false)',
      },
    ],
    elsewhere: 'quorum-peers.test.ts',
  },
  {
    name: 'the first claim of a process travels alone',
    mistake: 'each grant to a waiter costs two changes of the whole state',
    edits: [
      {
        file: 'store/register/patience.js',
        find: '#soon = SOON_MIN;',
        replace: '#soon = 0;',
      },
    ],
    elsewhere: 'quorum-contenders.test.ts',
  },
  {
    name: 'a pushed grant that is almost over counts',
    mistake: 'a waiter with slow answers loses its lease a moment after it began',
    edits: [
      {
        file: 'acquire/pushes.js',
        find: 'validUntil - now < left * SHORT',
        replace: 'validUntil <= now',
      },
    ],
    elsewhere: 'late-grants.test.ts',
  },
];
