/**
 * Mistakes that hurt in production: the holes of this kind that two hostile readings found. Named
 * tests find them.
 */
import { type Mutant, testedBy } from '../mutant.js';
import { SCRIPTS } from '../plant.js';

export const PRODUCTION: readonly Mutant[] = [
  testedBy(
    'dashboard/test/unit/dashboard.test.ts',
    'no answer of authorize lets in',
    'the dashboard answers a request for which `authorize` returned nothing',
    ['dashboard.js', "may !== 'read' && may !== 'write'", 'may === false'],
    'dashboard',
  ),
  testedBy(
    'dashboard/test/unit/local-access.test.ts',
    'the address of the socket is enough',
    'behind a proxy of its machine, the dashboard takes each client for a local one',
    [
      'access.js',
      'this.#given(request, url).some((one) => isSame(one, this.token)) && this.#most',
      'this.#most',
    ],
    'dashboard',
  ),
  testedBy(
    'dashboard/test/unit/slow-pages.test.ts',
    'a slow page keeps all its events',
    'a page of the dashboard that does not read takes memory without a bound',
    ['events.js', 'this.#bytes > BEHIND_MAX', 'false'],
    'dashboard',
  ),
  testedBy(
    'dashboard/test/unit/slow-pages.test.ts',
    'a page that takes nothing stays',
    'a connection of the dashboard that reads nothing is never cut',
    ['events.js', '++this.#missed >= MISSED_MAX', 'false'],
    'dashboard',
  ),
  testedBy(
    'unit/telemetry.test.ts: the health check',
    'health without a lock',
    '`health()` says ok while the store answers and grants no lock',
    [
      'instance/health.js',
      'await probe(core);',
      'await probe(core).catch((error) => { if (!isRefusal(error)) throw error; });',
    ],
  ),
  {
    name: 'an old server passes',
    mistake: '`ready()` accepts Redis 6, which refuses the scripts later',
    edits: [
      {
        file: SCRIPTS,
        find: 'if not redis.REDIS_VERSION then',
        replace: 'if false then',
        every: true,
      },
    ],
    elsewhere: 'server/old-server.test.ts',
  },
  testedBy(
    'unit/store/error-replies.test.ts',
    'a refused login is a refusal',
    'a wrong password looks as if the store had refused the lock',
    ['store/redis/error-replies.js', 'MISCONF|NOAUTH|WRONGPASS', 'MISCONF'],
  ),
  testedBy(
    'cli/test/unit/failure.test.ts',
    'a right that is missing in a script is an outage',
    'the command line exits with 69 instead of 77, and supervisors start it again',
    ['failure.js', '|ACL failure|user executing the script', ''],
    'cli',
  ),
  testedBy(
    'unit/store/quorum-register.test.ts',
    'thirty lost races are an outage',
    '`tryAcquire` on a quorum rejects UNREACHABLE while others propose ballots',
    ['store/quorum/quorum-register.js', 'READS_MAX = 200', 'READS_MAX = 30'],
  ),
  testedBy(
    'unit/store/quorum-looks.test.ts',
    'a look promises a ballot',
    '`inspect` and `list` write to each server of a quorum, and keep its keys',
    ['store/register/register-store.js', 'this.#proposals.get(name)?.idle === false', 'true'],
  ),
  testedBy(
    'server/security.quorum.test.ts',
    'other channels on a quorum',
    'the documented user may not subscribe to the channels of a quorum',
    ['store/register/register-store.js', '`${this.#prefix}wake:', '`${this.#prefix}'],
  ),
  testedBy(
    'unit/store/quorum-full.test.ts',
    'a renewal needs memory',
    'servers of a quorum whose memory is full refuse renewals, and leases are lost',
    ['store/quorum/quorum-register.js', 'change.renews !== true && ', ''],
  ),
  testedBy(
    'unit/many-fair-waiters.test.ts',
    'each fair group is looked at',
    'thousands of fair tasks of one process cost time that grows with their square',
    [
      'acquire/root-queue.js',
      'const last = this.#last;',
      'let last; for (const one of this.#fair ?? []) last = one;',
    ],
  ),
  testedBy(
    'unit/default-wait.test.ts: the maxHold of an instance',
    'maxHold of an instance without renewal',
    "an instance's `maxHold` also limits the leases that are not renewed",
    ['base/options.js', 'renew ? usualMaxHold : Number.POSITIVE_INFINITY', 'usualMaxHold'],
  ),
  testedBy(
    'unit/adopt.test.ts',
    'adopted by a closed instance',
    'an instance that was closed adopts a lease, and nothing renews or releases it',
    ['handover.js', 'if (core.closing)', 'if (false)'],
  ),
  testedBy(
    'unit/register.suites.test.ts: keeps the end that maxHold sets',
    'adopted without its limit',
    'a lease that was handed over is renewed beyond its `maxHold`',
    ['handover.js', 'owner, maxHold };', 'owner, maxHold: Number.POSITIVE_INFINITY };'],
  ),
  testedBy(
    'otel/test/unit/otel.test.ts: the metrics',
    'the gauges of one instance',
    'two instances of a process replace the numbers of each other in its gauges',
    ['gauges.js', '[which] += stats[which]', '[which] = stats[which]'],
    'otel',
  ),
  testedBy('unit/told.test.ts: onLost', 'a silent loss', '`onLost` of an instance is not called', [
    'observe/telemetry.js',
    'if (this.settings.onLost)',
    'if (false)',
  ]),
  testedBy(
    'unit/told.test.ts: a lease whose object is collected',
    'a forgotten lease is not told',
    'a lease whose object is collected before its release causes no warning',
    ['observe/telemetry.js', 'FORGOTTEN.register(lease, hold, hold);', ''],
  ),
];
