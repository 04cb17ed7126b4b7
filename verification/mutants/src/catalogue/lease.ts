/** Mistakes in the time for which a process treats a lease as held. */
import type { Edit, Mutant } from '../mutant.js';

const watchdog = (find: string, replace: string): Edit => ({
  file: 'lease/watchdog.js',
  find,
  replace,
});
const inquiries = (find: string, replace: string): Edit => ({
  file: 'lease/inquiries.js',
  find,
  replace,
});
const room = (find: string, replace: string): Edit => ({
  file: 'acquire/acquisitions.js',
  find,
  replace,
});

export const LEASE: readonly Mutant[] = [
  {
    name: 'renewal counted from its answer',
    mistake: 'a renewed lease starts when the reply arrives (DistributedLock, `LeaseMonitor`)',
    edits: [
      inquiries(
        'const sentAt = this.#suspend.toLocal(sent, now);\n        const suspended',
        'sent = this.#suspend.moment();\n' +
          '        const sentAt = this.#suspend.toLocal(sent, now);\n        const suspended',
      ),
      inquiries(
        "if (status === 'absent' ||",
        "sent = this.#suspend.moment();\n                if (status === 'absent' ||",
      ),
    ],
    seed: 9,
  },
  {
    name: 'time spent is not counted',
    mistake:
      'a granted lease starts when the reply arrives (a Redlock that forgets the elapsed time)',
    edits: [room('const sentAt = this.#suspend.toLocal(sent, now);', 'const sentAt = now.at;')],
  },
  {
    name: 'push counted from its receipt',
    mistake: 'a pushed lease starts when the push arrives (redis-rwlock hands over ended leases)',
    edits: [{ file: 'acquire/pushes.js', find: 'Math.min(grantedAt, now)', replace: 'now' }],
  },
  {
    name: 'no margin for drift',
    mistake: 'two clocks are assumed to run at the same speed',
    edits: [
      {
        file: 'lease/local-time.js',
        find: 'export function drift(lease) {',
        replace: 'export function drift(lease) {\n    return 0;',
      },
    ],
    seed: 4,
  },
  {
    name: 'wall clock',
    mistake:
      'leases are measured on a clock that can be set (`Date.now()` in every library but few)',
    edits: [
      {
        file: 'base/options.js',
        find: 'clock: checkClock(options.clock),',
        replace:
          'clock: ((c) => ({ now: () => c.wall(), wall: () => c.wall(), ' +
          'after: (ms, f, u) => c.after(ms, f, u), ' +
          'afterIo: (f) => c.afterIo(f) }))(checkClock(options.clock)),',
      },
    ],
    rare: true,
    seed: 33,
  },
  {
    name: 'sleep is not noticed',
    mistake: 'a monotonic clock that stopped while the machine was suspended is trusted',
    edits: [
      {
        file: 'lease/local-time.js',
        find: '(moved > SLEEP_MS)',
        replace: '(false)',
      },
    ],
    seed: 13,
  },
  {
    name: 'doubt that ends without the fence',
    mistake:
      'after a suspend, a lease that a late copy of the request took counts as the one before',
    edits: [
      {
        file: 'lease/root.js',
        find: 'return this.doubted && this.mayBeDuplicated;',
        replace: 'return false;',
      },
    ],
    rare: true,
    seed: 9_701_026,
  },
  {
    name: 'no answer taken for renewed',
    mistake: 'an error at renewal is ignored, and the lease still counts as held',
    edits: [
      watchdog(
        'root.renewal.failure = failure ?? notRenewed();',
        'root.renewal.failure = failure ?? notRenewed();\n' +
          '        if (left < 0)\n            root.storeUntil += root.ttl / 3;',
      ),
    ],
  },
  {
    name: 'expiry is not enforced',
    mistake: 'the holder is not told that its lease has ended (most libraries: there is no signal)',
    edits: [
      watchdog(
        'lose(hold, reason) {',
        `lose(hold, reason) {
        if (reason === 'expired') {
            hold.root.storeUntil += 1000;
            return this.#due.plan(hold.root);
        }`,
      ),
    ],
  },
  {
    name: 'renewal outlives the release',
    mistake: 'the watchdog renews a released lease (a watchdog that is not cancelled)',
    edits: [
      {
        file: 'acquire/releaser.js',
        find: "hold.leave('released');\n        watchdog.remove(root);",
        replace: '',
      },
    ],
  },
];
