/** Mistakes of the help between processes that contend for a key of a quorum (decision 33). */
import { type Mutant, testedBy } from '../mutant.js';

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
    elsewhere: 'unit/quorum-contenders.test.ts',
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
    elsewhere: 'unit/quorum-contenders.test.ts',
  },
  {
    name: 'a slow answer sets the clock back',
    mistake: 'a lease that was over for one command is not over for the next',
    edits: [{ file: 'store/quorum/server-clocks.js', find: 'if (!isSlow)', replace: 'if (true)' }],
    elsewhere: 'unit/store/server-clocks.test.ts',
  },
  {
    name: 'a command that was left is applied late',
    mistake: 'the owner applies a command whose sender repeats it by now',
    edits: [
      {
        file: 'store/register/pending.js',
        find: '(errand === undefined || errand.until >= latest)',
        replace: 'true',
      },
    ],
    elsewhere: 'unit/store/pending.test.ts',
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
    elsewhere: 'unit/store/quorum-peers.test.ts',
  },
  {
    name: 'nothing looks after commands that were left',
    mistake: 'a command that was left to a process that has ended waits until its time is over',
    edits: [{ file: 'store/register/left-commands.js', find: 'this.#events.look();', replace: '' }],
    elsewhere: 'unit/quorum-hand-off.test.ts',
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
    elsewhere: 'unit/store/quorum-peers.test.ts',
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
    elsewhere: 'unit/quorum-contenders.test.ts',
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
    elsewhere: 'unit/acquire/late-grants.test.ts',
  },
  {
    name: 'a command that changes nothing takes the ballot',
    mistake: 'a late release takes the promises away from the process that holds the lock',
    edits: [
      {
        file: 'store/register/proposals.js',
        find: 'if (isRead)\n                continue;',
        replace: 'isOwner = kept !== undefined; if (isRead) continue;',
      },
    ],
    elsewhere: 'unit/store/quorum-unhurried.test.ts',
  },
  {
    name: 'commands at a slow server are sent again at once',
    mistake: 'they are applied twice, and released up to six times',
    edits: [{ file: 'store/quorum/letters.js', find: 'if (ms === 0)', replace: 'if (true)' }],
    elsewhere: 'unit/store/quorum-peers.test.ts',
  },
  {
    name: 'an answer that few servers published never counts',
    mistake: 'the claim of a lease waits for the answer to its acquisition, and the lease ends',
    edits: [
      { file: 'store/quorum/quorum-register.js', find: 'from.made(base.origins);', replace: '' },
    ],
    elsewhere: 'unit/store/quorum-peers.test.ts',
  },
  {
    name: 'the grant tells the place of its tasks',
    mistake: 'a fair group whose place is not known asks for a place of the time of its grant',
    edits: [
      {
        file: 'acquire/acquisition.js',
        find: '|| FIRST_TICKET',
        replace: '|| Math.min(this.storeTime, hold.fence) - 1',
      },
    ],
    world: 'quorum',
    seed: 6676,
  },
  {
    name: 'a claim waits for the answer to its acquisition',
    mistake:
      'the answer of the process that granted it is lost, and the lease ends before the claim',
    edits: [
      {
        file: 'store/register/left-commands.js',
        find: " || command.op === 'renew'",
        replace: '',
      },
    ],
    elsewhere: 'unit/store/quorum-left-claims.test.ts',
  },
  {
    name: 'an older answer hides a push',
    mistake: 'a waiter with a push that it cannot believe sleeps until its next poll',
    edits: [{ file: 'acquire/acquisitions.js', find: 'if (asksAgain)', replace: 'if (false)' }],
    elsewhere: 'unit/acquire/acquisitions.test.ts',
  },
  testedBy(
    'unit/acquire/slow-replies.test.ts: a waiter believes its push',
    'a period longer than belief',
    'while replies are slow, waiters poll so rarely that each pushed grant is asked about first',
    [
      'acquire/poll-queues.js',
      "wake.channel === '' ? undefined : beliefMs(settings.claimWindow)",
      'undefined',
    ],
  ),
  testedBy(
    'unit/quorum-dead-waiters.test.ts: waiters of a quorum whose processes died',
    'a grant to a dead process stays',
    'each dead waiter of a quorum costs a claim window',
    ['store/register/proposals.js', 'if (deaf.length > 0)', 'if (false)'],
  ),
  testedBy(
    'unit/quorum-dead-waiters.test.ts: a waiter that hears no message is never overlapped',
    'an unheard grant ends in a later state',
    'the lease of a waiter that asked meanwhile is ended under it',
    ['store/register/pending.js', 'unheard.version !== current || ', ''],
  ),
  {
    name: 'one deaf server ends a grant',
    mistake: 'a waiter that a majority reached loses its lease',
    edits: [
      { file: 'store/quorum/count.js', find: 'servers(channel) >= majority', replace: 'true' },
    ],
    world: 'quorum',
    seed: 7,
  },
  testedBy(
    'unit/quorum-dead-waiters.test.ts: one server has accepted the change',
    'a read tells a grant',
    'an interrupted change ends a lease that a read has shown to its process',
    ['store/register/proposals.js', ' && !(this.#parts.register.peers && tellsGrant(applied))', ''],
  ),
  testedBy(
    'unit/store/unheard.test.ts',
    'an answered grant counts as unheard',
    'the answer to a command tells a grant that the next change ends',
    ['store/register/unheard.js', 'if (isNamed(push.id, batch))', 'if (false)'],
  ),
  testedBy(
    'unit/store/unheard.test.ts: its signal goes to the next',
    'the signal of an unheard grant is consumed',
    'a signal is lost with the process that it woke',
    ['engine/engine.js', 'wanted.unheard !== true', 'true'],
  ),
  testedBy(
    'server/quorum.replicas.test.ts: keeps its memory if it gets a replica',
    'listeners at a replica are deaf',
    'a waiter that listens at a replica of a member loses its lease',
    ['store/quorum/acceptor-script.js', '== 0 and counts then', '== 0 then'],
  ),
];
