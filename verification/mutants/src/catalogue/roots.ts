/**
 * Mistakes in roots: leases that a process hands from task to task without telling the store. Most
 * of them are planted in the model too (`verification/formal/roots.pml`).
 */
import type { Edit, Mutant } from '../mutant.js';

const edit =
  (file: string) =>
  (find: string, replace: string): Edit => ({ file, find, replace });
const roots = edit('acquire/roots.js');
const root = edit('lease/root.js');
const rootEnd = edit('acquire/releaser.js');
const turn = edit('engine/turn.js');
const resource = edit('engine/resource.js');

/** Mistakes of the process. */
export const ROOTS: readonly Mutant[] = [
  {
    name: 'one hand-off more',
    mistake: 'a process hands its lease on after the last reserved fence (`ONE_PASS_MORE`)',
    edits: [roots('handOffs > 0 && ', '')],
    seed: 4,
  },
  {
    name: 'a hand-off repeats the fence',
    mistake:
      'after a hand-off inside the process, the new holder has the fence of the previous one',
    edits: [root('return this.root.fence + this.index;', 'return this.root.fence;')],
  },
  {
    name: 'the previous task keeps the lease',
    mistake: 'a lease that was handed on still counts as held by the task before',
    edits: [root("before.state = 'released';", '')],
  },
  {
    name: 'a lease in doubt is handed on',
    mistake: 'a hand-off does not read the clock (`NO_CLOCK`)',
    edits: [
      edit('acquire/releaser.js')("believed ? 'held' : 'doubted'", "'held'"),
      roots('left >= Math.min(claimWindow, ttl) / 2 && ', ''),
    ],
    elsewhere: 'unit/roots.test.ts',
  },
  {
    name: 'used fences are not reported',
    mistake:
      'the end of a root names the fence of its grant as the last used one (`USED_NOT_TOLD`)',
    edits: [rootEnd('used: fence + index', 'used: fence')],
    rare: true,
    seed: 377,
  },
  {
    name: 'the other tasks are forgotten',
    mistake: 'when a root is lost, the tasks behind it do not ask anew (`NOT_ASKED_ANEW`)',
    edits: [
      roots(
        'if (queue.size > 0)\n            this.#ask(queue, this.#parts.suspend.moment());\n' +
          '        this.tidy',
        'this.tidy',
      ),
    ],
  },
  {
    name: 'withdrawn before it is queued',
    mistake:
      'a root is withdrawn only before the answer to its `turn`, which may arrive later ' +
      '(`WITHDRAWN_TOO_EARLY`)',
    edits: [
      rootEnd('if (next?.settled)', 'if (next?.settled)\n return; else if (false)'),
      {
        file: 'acquire/acquisition.js',
        find: "handler.onLateReply(this, reply?.status ?? 'queued');",
        replace: 'undefined;',
      },
    ],
    elsewhere: 'unit/roots-end.test.ts',
  },
  {
    name: 'withdrawn after the answer',
    mistake:
      'the withdrawal of a root waits for the answer to the `turn` that queues it ' +
      '(`WITHDRAWN_TOO_LATE`)',
    edits: [
      edit('acquire/acquisitions.js')(
        'asked && ',
        'asked && !(acquisition.abandoned && acquisition.asking) && ',
      ),
      rootEnd('if (next?.settled)', 'if (next?.settled)\n return; else if (false)'),
    ],
    rare: true,
    seed: 174,
  },
  {
    name: 'a fair group stays open',
    mistake: 'fair tasks join the entry of earlier ones, before those of other processes',
    edits: [roots('queue.open = !queue.fair;', '')],
    rare: true,
    seed: 132,
  },
  {
    name: 'a fair root serves all tasks of its process',
    mistake: 'a fair root is handed to tasks that are not its neighbours in the queue',
    edits: [
      roots(
        'of.behind(id);',
        'of.behind(id) ?? [...of.all()].find((one) => one.fair && one.entry !== undefined);',
      ),
    ],
    seed: 25,
  },
  {
    name: 'the timer of a root stays',
    mistake: 'the timer that checks the lease of a root goes on after the root, also after `close`',
    edits: [roots('queue.stopTimer();\n        if (queue.fair', 'if (queue.fair')],
    rare: true,
    seed: 592,
  },
  // "a renewal is answered to the previous task" cannot be written any more: it knows no task
  {
    name: 'a term is handed on',
    mistake: 'a leader hands its term to a candidate of its process: the store shows the old one',
    edits: [roots(' && candidate !== true', '')],
    elsewhere: 'unit/election.test.ts',
  },
  {
    name: 'a root that was granted alone goes on',
    mistake: 'the limit of time for hand-offs does not apply to a root that was granted alone',
    edits: [roots('index < UNTIMED ?', 'index < UNTIMED || handOffs + index > 64 ?')],
    seed: 58,
  },
  {
    name: 'the end of renewal reaches the next task',
    mistake: '`stopRenewal()` of one task ends the renewal of the tasks after it',
    edits: [
      root(
        'this.hold = new Hold(this, terms, before.index + 1, now);',
        [
          'this.hold = new Hold(this, terms, before.index + 1, now);',
          'this.hold.renewed = before.renewed;',
        ].join('\n        '),
      ),
    ],
    rare: true,
    seed: 116,
  },
  {
    name: 'maxHold reaches the next task',
    mistake: '`maxHold` of one task ends the lease of the task after it',
    edits: [
      root(
        'this.hold = new Hold(this, terms, before.index + 1, now);',
        [
          'this.hold = new Hold(this, terms, before.index + 1, now);',
          'this.hold.holdUntil = before.holdUntil;',
        ].join('\n        '),
      ),
    ],
    rare: true,
    seed: 84,
  },
  {
    name: 'a lease that was handed over is released',
    mistake: 'the first process of a lease that was handed over frees it under the adopter',
    edits: [
      edit('acquire/releaser.js')("if (hold.state === 'left')\n            return 'kept';", ''),
    ],
    seed: 5,
  },
  {
    name: 'fair tasks join any group',
    mistake: 'a fair task joins an earlier group of its terms, before tasks that called before it',
    edits: [
      edit('acquire/root-queue.js')(
        'const last = this.#last;',
        'const last = [...(this.#fair ?? [])].find((one) => one.open && one.suits(terms));',
      ),
    ],
    rare: true,
    seed: 6,
  },
  {
    name: 'a root ends before the withdrawals',
    mistake: 'the end of a root overtakes the withdrawal of an entry whose task it has served',
    edits: [
      roots('queue.withdraw();\n        // while', ';\n        // while'),
      roots('queue.withdraw();\n            this.tidy', ';\n            this.tidy'),
    ],
    elsewhere: 'unit/freed-at-once.test.ts',
  },
  {
    name: 'parking before the withdrawals',
    mistake: 'a task waits at a condition before the entry that its root has served is withdrawn',
    edits: [
      edit('acquire/conditions/conditions.js')('roots.groups.askNow(acquisition.request.key);', ''),
    ],
    elsewhere: 'unit/freed-at-once.test.ts',
  },
];

/** Mistakes of the store. */
export const ROOTS_IN_STORE: readonly Mutant[] = [
  {
    name: 'a turn queues without a root',
    mistake: 'a copy of a turn queues a root that is over (`TURN_WITHOUT_ROOT`)',
    edits: [
      turn(
        'withdraw(resource, id);\n        return false;',
        ['withdraw(resource, id);', 'queueAgain(resource, wanted, now);', 'return false;'].join(
          '\n        ',
        ),
      ),
    ],
    seed: 38,
  },
  {
    name: 'a turn does not name its grant',
    mistake: 'a turn ends a lease that a late duplicate got, and queues a root (`TURN_UNNAMED`)',
    edits: [turn('holder.fence === fence', 'true')],
    elsewhere: 'unit/engine/turn.test.ts',
  },
  {
    name: 'the next root comes first',
    mistake: 'a process that ends a root is served before the queue (`AGAIN_AHEAD`)',
    edits: [turn('fair, ticket }', 'fair, ticket: 1 }')],
    elsewhere: 'unit/roots.test.ts',
  },
  {
    name: 'fences return at an expiry',
    mistake: 'reserved fences become free at an expiry, also used ones (`FENCES_BACK_AT_EXPIRY`)',
    edits: [
      resource(
        'this.#lapse(holder, holder.expires, now);\n                this.remove(holder);',
        [
          'this.#lapse(holder, holder.expires, now);',
          'this.takeBackFences(holder);',
          'this.remove(holder);',
        ].join('\n                '),
      ),
    ],
    elsewhere: 'unit/reserved-fences.test.ts',
  },
  {
    name: 'reserved fences are kept',
    mistake:
      'unused reserved fences run ahead of the clock; a deleted key repeats them (`FENCES_STAY`)',
    edits: [resource('if (this.fence === last)', 'if (false)')],
    rare: true,
    seed: 151,
  },
  {
    name: 'a fair waiter is overtaken',
    mistake: 'a root may be handed on although a fair waiter is queued (`FAIR_OVERTAKEN`)',
    edits: [edit('engine/limits.js')('if (fairWaiting > 0)\n        return 0;', '')],
    seed: 20,
  },
];
