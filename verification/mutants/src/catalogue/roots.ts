/**
 * Mistakes in roots: leases that a process hands from task to task without telling the store. Most
 * of them are planted in the model too (`verification/formal/roots.pml`).
 */
import type { Edit, Mutant } from '../mutant.js';

const edit =
  (file: string) =>
  (find: string, replace: string): Edit => ({ file, find, replace });
const roots = edit('acquire/roots.js');
const record = edit('lease/lease-record.js');
const turn = edit('engine/turn.js');
const resource = edit('engine/resource.js');

/** Mistakes of the process. */
export const ROOTS: readonly Mutant[] = [
  {
    name: 'one hand-off more',
    mistake: 'a process hands its lease on after the last reserved fence (`ONE_PASS_MORE`)',
    edits: [roots('handOffs > 0 && ', '')],
  },
  {
    name: 'a hand-off repeats the fence',
    mistake:
      'after a hand-off inside the process, the new holder has the fence of the previous one',
    edits: [record('fence: this.fence + 1,', 'fence: this.fence,')],
  },
  {
    name: 'the previous task keeps the lease',
    mistake: 'a lease that was handed on still counts as held by the task before',
    edits: [
      record('this.observer = undefined;\n        this.release();', 'this.observer = undefined;'),
    ],
  },
  {
    name: 'a lease in doubt is handed on',
    mistake: 'a hand-off does not read the clock (`NO_CLOCK`)',
    edits: [
      { file: 'acquire/releaser.js', find: 'believed && !releasing', replace: '!releasing' },
      roots('left >= Math.min(claimWindow, terms.ttl) / 2 && ', ''),
    ],
    elsewhere: 'the tests of roots, and the model',
  },
  {
    name: 'used fences are not reported',
    mistake:
      'the end of a root names the fence of its grant as the last used one (`USED_NOT_TOLD`)',
    edits: [
      {
        file: 'acquire/acquire-sender.js',
        find: 'rootFence: fence, fence: used',
        replace: 'rootFence: fence, rootFence: used',
      },
    ],
    rare: true,
  },
  {
    name: 'the other tasks are forgotten',
    mistake: 'when a root is lost, the tasks behind it do not ask anew (`NOT_ASKED_ANEW`)',
    edits: [
      roots('if (queue.size > 0)\n            this.#ask(queue);\n        this.#tidy', 'this.#tidy'),
    ],
  },
  {
    name: 'withdrawn before it is queued',
    mistake:
      'a root is withdrawn only before the answer to its `turn`, which may arrive later ' +
      '(`WITHDRAWN_TOO_EARLY`)',
    edits: [
      edit('acquire/releaser.js')(
        'if (again?.settled)',
        'if (again?.settled)\n return; else if (false)',
      ),
      edit('acquire/acquire-sender.js')(
        'if (root.settled)',
        'if (root.settled)\n            return;\n        if (root.settled)',
      ),
    ],
    elsewhere: 'the tests of roots, and the model',
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
      edit('acquire/releaser.js')(
        'if (again?.settled)',
        'if (again?.settled)\n return; else if (false)',
      ),
    ],
    rare: true,
  },
  {
    name: 'a fair group stays open',
    mistake: 'fair tasks join the entry of earlier ones, before those of other processes',
    edits: [edit('acquire/root-acquisition.js')('queue.open = !queue.fair;', '')],
  },
  {
    name: 'a fair root serves all tasks of its process',
    mistake: 'a fair root is handed to tasks that are not its neighbours in the queue',
    edits: [roots('run.has(entry.ahead)', 'run.size > 0')],
  },
  {
    name: 'the timer of a root stays',
    mistake: 'the timer that checks the lease of a root goes on after the root, also after `close`',
    edits: [roots('queue.timer?.cancel();\n        const', 'const')],
    rare: true,
  },
  {
    name: 'a renewal is answered to the previous task',
    mistake:
      'an answer to a renewal extends only the lease that asked, not the one after a hand-off',
    edits: [
      {
        file: 'lease/watchdog.js',
        find: '#renewed({ latest: record }, left, now, failure)',
        replace: '#renewed(record, left, now, failure)',
      },
      edit('lease/inquiries.js')('#confirm({ latest: record }, sent', '#confirm(record, sent'),
    ],
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
  },
  {
    name: 'a turn does not name its grant',
    mistake: 'a turn ends a lease that a late duplicate got, and queues a root (`TURN_UNNAMED`)',
    edits: [turn('holder.fence === fence', 'true')],
    elsewhere: 'the tests of the engine, and the model',
  },
  {
    name: 'the next root comes first',
    mistake: 'a process that ends a root is served before the queue (`AGAIN_AHEAD`)',
    edits: [turn('fair, ticket: 0 }', 'fair, ticket: 1 }')],
    elsewhere: 'the tests of roots, and the model',
  },
  {
    name: 'fences return at an expiry',
    mistake: 'reserved fences become free at an expiry, also used ones (`FENCES_BACK_AT_EXPIRY`)',
    edits: [
      resource(
        'this.processes.lapse(holder.id, since, now);\n            this.remove(holder);',
        [
          'this.processes.lapse(holder.id, since, now);',
          'this.takeBackFences(holder);',
          'this.remove(holder);',
        ].join('\n            '),
      ),
    ],
    elsewhere: 'the tests of reserved fences, and the model',
  },
  {
    name: 'reserved fences are kept',
    mistake:
      'unused reserved fences run ahead of the clock; a deleted key repeats them (`FENCES_STAY`)',
    edits: [resource('if (this.fence === last)', 'if (false)')],
    rare: true,
  },
  {
    name: 'a fair waiter is overtaken',
    mistake: 'a root may be handed on although a fair waiter is queued (`FAIR_OVERTAKEN`)',
    edits: [edit('engine/limits.js')('if (fairWaiting > 0)\n        return 0;', '')],
  },
];
