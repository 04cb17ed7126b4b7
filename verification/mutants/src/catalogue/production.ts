/**
 * Mistakes that hurt in production: the holes of this kind that two hostile readings found. Named
 * tests find them.
 */
import type { Edit, Mutant } from '../mutant.js';
import { SCRIPTS } from '../plant.js';

const edit = (file: string, find: string, replace: string): Edit => ({ file, find, replace });

export const PRODUCTION: readonly Mutant[] = [
  {
    name: 'no answer of authorize lets in',
    mistake: 'the dashboard answers a request for which `authorize` returned nothing',
    edits: [
      {
        ...edit('dashboard.js', "may !== 'read' && may !== 'write'", 'may === false'),
        of: 'dashboard',
      },
    ],
    elsewhere: 'dashboard/test/unit/dashboard.test.ts',
  },
  {
    name: 'the address of the socket is enough',
    mistake: 'behind a proxy of its machine, the dashboard takes each client for a local one',
    edits: [
      {
        ...edit(
          'access.js',
          'this.#given(request, url).some((one) => isSame(one, this.token)) && this.#most',
          'this.#most',
        ),
        of: 'dashboard',
      },
    ],
    elsewhere: 'dashboard/test/unit/local-access.test.ts',
  },
  {
    name: 'a slow page keeps all its events',
    mistake: 'a page of the dashboard that does not read takes memory without a bound',
    edits: [{ ...edit('events.js', 'this.#bytes > BEHIND_MAX', 'false'), of: 'dashboard' }],
    elsewhere: 'dashboard/test/unit/slow-pages.test.ts',
  },
  {
    name: 'a page that takes nothing stays',
    mistake: 'a connection of the dashboard that reads nothing is never cut',
    edits: [{ ...edit('events.js', '++this.#missed >= MISSED_MAX', 'false'), of: 'dashboard' }],
    elsewhere: 'dashboard/test/unit/slow-pages.test.ts',
  },
  {
    name: 'health without a lock',
    mistake: '`health()` says ok while the store answers and grants no lock',
    edits: [
      edit(
        'instance/health.js',
        'await probe(core);',
        'await probe(core).catch((error) => { if (!isRefusal(error)) throw error; });',
      ),
    ],
    elsewhere: 'unit/telemetry.test.ts: the health check',
  },
  {
    name: 'an old server passes',
    mistake: '`ready()` accepts Redis 6, which refuses the scripts later',
    edits: [{ ...edit(SCRIPTS, 'if not redis.REDIS_VERSION then', 'if false then'), every: true }],
    elsewhere: 'server/old-server.test.ts',
  },
  {
    name: 'a refused login is a refusal',
    mistake: 'a wrong password looks as if the store had refused the lock',
    edits: [edit('store/redis/error-replies.js', 'MISCONF|NOAUTH|WRONGPASS', 'MISCONF')],
    elsewhere: 'unit/store/error-replies.test.ts',
  },
  {
    name: 'a right that is missing in a script is an outage',
    mistake: 'the command line exits with 69 instead of 77, and supervisors start it again',
    edits: [{ ...edit('failure.js', '|ACL failure|user executing the script', ''), of: 'cli' }],
    elsewhere: 'cli/test/unit/failure.test.ts',
  },
  {
    name: 'thirty lost races are an outage',
    mistake: '`tryAcquire` on a quorum rejects UNREACHABLE while others propose ballots',
    edits: [edit('store/quorum/quorum-register.js', 'READS_MAX = 200', 'READS_MAX = 30')],
    elsewhere: 'unit/store/quorum-register.test.ts',
  },
  {
    name: 'a look promises a ballot',
    mistake: '`inspect` and `list` write to each server of a quorum, and keep its keys',
    edits: [
      edit('store/register/register-store.js', 'this.#proposals.get(name)?.idle === false', 'true'),
    ],
    elsewhere: 'unit/store/quorum-looks.test.ts',
  },
  {
    name: 'other channels on a quorum',
    mistake: 'the documented user may not subscribe to the channels of a quorum',
    edits: [edit('store/register/register-store.js', '`${this.#prefix}wake:', '`${this.#prefix}')],
    elsewhere: 'server/security.quorum.test.ts',
  },
  {
    name: 'a renewal needs memory',
    mistake: 'servers of a quorum whose memory is full refuse renewals, and leases are lost',
    edits: [edit('store/quorum/quorum-register.js', 'change.renews !== true && ', '')],
    elsewhere: 'unit/store/quorum-full.test.ts',
  },
  {
    name: 'each fair group is looked at',
    mistake: 'thousands of fair tasks of one process cost time that grows with their square',
    edits: [
      edit(
        'acquire/root-queue.js',
        'const last = this.#last;',
        'let last; for (const one of this.#fair ?? []) last = one;',
      ),
    ],
    elsewhere: 'unit/many-fair-waiters.test.ts',
  },
  {
    name: 'maxHold of an instance without renewal',
    mistake: "an instance's `maxHold` also limits the leases that are not renewed",
    edits: [
      edit('base/options.js', 'renew ? usualMaxHold : Number.POSITIVE_INFINITY', 'usualMaxHold'),
    ],
    elsewhere: 'unit/default-wait.test.ts: the maxHold of an instance',
  },
  {
    name: 'adopted by a closed instance',
    mistake: 'an instance that was closed adopts a lease, and nothing renews or releases it',
    edits: [edit('handover.js', 'if (core.closing)', 'if (false)')],
    elsewhere: 'unit/adopt.test.ts',
  },
  {
    name: 'adopted without its limit',
    mistake: 'a lease that was handed over is renewed beyond its `maxHold`',
    edits: [
      edit('handover.js', 'owner, maxHold };', 'owner, maxHold: Number.POSITIVE_INFINITY };'),
    ],
    elsewhere: 'unit/register.suites.test.ts: keeps the end that maxHold sets',
  },
  {
    name: 'the gauges of one instance',
    mistake: 'two instances of a process replace the numbers of each other in its gauges',
    edits: [
      {
        ...edit('gauges.js', '[which] += stats[which]', '[which] = stats[which]'),
        of: 'otel',
      },
    ],
    elsewhere: 'otel/test/unit/otel.test.ts: the metrics',
  },
  {
    name: 'a silent loss',
    mistake: '`onLost` of an instance is not called',
    edits: [edit('observe/telemetry.js', 'if (this.settings.onLost)', 'if (false)')],
    elsewhere: 'unit/told.test.ts: onLost',
  },
  {
    name: 'a forgotten lease is not told',
    mistake: 'a lease whose object is collected before its release causes no warning',
    edits: [edit('observe/telemetry.js', 'FORGOTTEN.register(lease, hold, hold);', '')],
    elsewhere: 'unit/told.test.ts: a lease whose object is collected',
  },
];
