/** Mistakes that later hostile readings found. Named tests find them; see `holes.md`. */
import { type Mutant, testedBy } from '../mutant.js';

/** What a program is told. */
const TOLD: readonly Mutant[] = [
  testedBy(
    'unit/lease/end-at-a-look.test.ts',
    'a loss that a read of the signal finds stays',
    'a lease stays counted as held if a read of its signal noticed its end',
    ['lease/watchdog.js', "if (hold.state === 'lost')", 'if (false)'],
  ),
  testedBy(
    'unit/true-answers.test.ts',
    'an unused semaphore has its old number',
    '`available` and `drain` know the permits of a semaphore that is not in use any more',
    ['primitives/semaphore.js', 'state.used > 0 ? known : this.permits', 'known'],
  ),
  testedBy(
    'unit/true-answers.test.ts',
    'a place among the first thousand',
    '`place()` is null behind more than 1,000 waiters',
    ['primitives/lock-state.js', 'waiterCount > SHOWN_MAX', 'false'],
  ),
  testedBy(
    'unit/true-answers.test.ts',
    'a look that may fail once',
    '`whenFree` and `whenPermits` reject after one request without an answer',
    [
      'primitives/lock-state.js',
      'Math.min(until, answered + settings.unreachableAfter)',
      'answered',
    ],
  ),
  testedBy(
    'unit/ends-at-once.test.ts',
    'a read that hears no abort',
    'while a server is silent, an abort or a close is heard late, or told as an outage',
    [
      'primitives/lock-state.js',
      'return unlessAborted({ signal }, closed, key);',
      'return call();',
    ],
  ),
  testedBy(
    'unit/telemetry.test.ts',
    'a marker counts as a lock',
    'a forced release that waits publishes an acquisition of its marker',
    ['observe/telemetry.js', 'if (!key.includes(MARK))', 'if (true)'],
  ),
  testedBy(
    'unit/handed-over.test.ts',
    'an adopted lease lost in secret',
    'several leases that ended during their adoption have a signal that never aborts',
    ['handover.js', 'if (signal.aborted)', 'if (false)'],
  ),
  testedBy(
    'unit/forced-release.test.ts',
    'a forced release that is heard late',
    'the check of lasting leases runs once in a claim window, whenever a lease was granted',
    ['lease/lasting.js', 'next = Math.min(next, left);', ''],
  ),
];

/** What a program asks for. */
const ASKED: readonly Mutant[] = [
  testedBy(
    'unit/inherited-options.test.ts',
    'inherited options are ignored',
    'the options of an object with a getter in its class have no effect',
    ['base/checks.js', 'if (inherited !== undefined)', 'if (false)'],
  ),
  testedBy(
    'unit/false-losses.test.ts',
    'a lease of another kind at a condition',
    'a lease of a read-write lock or a semaphore of the same key is parked, and ends',
    ['primitives/condition.js', 'if (!isMutex)', 'if (false)'],
  ),
  testedBy(
    'unit/register.suites.test.ts: grants them once none is',
    'the adopted number limits a larger request',
    'after a smaller number of permits was adopted, a request above it is never granted',
    [
      'primitives/semaphore.js',
      '[this.permits, this.#permits].find((permits) => permits >= weight)',
      'this.#permits',
    ],
  ),
  testedBy(
    'unit/scheduled-starts.test.ts',
    'the time of a slow reply is not kept',
    'two runs of a schedule start less than `atLeast` apart',
    ['primitives/kept-lease.js', 'while (took > spare)', 'while (false)'],
  ),
  testedBy(
    'unit/contexts.test.ts',
    'timers in the context of their task',
    '`onLost` enters a reentrant mutex beside the task that holds it',
    ['base/clock.js', 'AsyncLocalStorage.snapshot()', '(work) => work()'],
  ),
  testedBy(
    'unit/cleanup/release-retrier.test.ts',
    'a release that lets Node end',
    'a program ends silently in the middle of a release that was not answered',
    ['acquire/cleanup/release-retrier.js', 'return isTold;', 'return true;'],
  ),
];

/** What clients and servers do. */
const CONNECTIONS: readonly Mutant[] = [
  testedBy(
    'unit/store/quorum-channel.test.ts',
    'texts of a stranger without a bound',
    'a user who may only publish fills the memory of each process of a quorum',
    ['store/quorum/quorum-channel.js', ' && this.#length <= LENGTH_MAX', ''],
  ),
  testedBy(
    'unit/store/proven-port.test.ts',
    'an end of the connection is another reply',
    'an error reply before the end of its connection accuses the client',
    ['store/redis/proven-port.js', 'if (!port.isReply(second))', 'if (false)'],
  ),
  testedBy(
    'unit/clients.test.ts',
    'a full server refuses each lock',
    '"max number of clients" in reply to the handshake is told as a refusal of each call',
    ['store/clients/errors.js', '|ERR max number of clients', ''],
  ),
  testedBy(
    'unit/store/error-replies.test.ts',
    'an outage behind a proxy is a refusal',
    'a proxy tells an outage as an error reply, and calls reject for good',
    ['store/clients/errors.js', ' || OUTAGE.test(message)', ''],
  ),
  testedBy(
    'unit/client-listeners.test.ts',
    'a listener stays on the client',
    'each instance that was closed leaves a listener of errors on the client',
    ['store/lazy-store.js', 'watchErrors(client, -1)', 'void client'],
  ),
  testedBy(
    'sqlite/test/unit/upkeep.test.ts',
    'time behind the file',
    'on SQLite a wall clock that was behind at the first use makes fences go back',
    ['boot-clock.js', 'Math.max(wall(), latest)', 'wall()'],
    'sqlite',
  ),
  testedBy(
    'sqlite/test/unit/rules.test.ts',
    'a link to a network file system',
    'on SQLite a link to a file on NFS passes the check of the place',
    ['place.js', 'existsSync(path) ? path : dirname(path)', 'dirname(path)'],
    'sqlite',
  ),
  testedBy(
    'etcd/test/unit/rules.test.ts',
    'the change that crosses the quota',
    'on etcd a change that was made counts as not executed',
    ['failures.js', "return { kind: 'unanswered' };", "return { kind: 'transient' };"],
    'etcd',
  ),
  testedBy(
    'postgres/test/unit/register.test.ts',
    'a lost race is an outage',
    'on PostgreSQL with another default isolation a swap that lost its race fails',
    ['failures.js', "new Set(['40001', ", 'new Set(['],
    'postgres',
  ),
];

export const HOSTILE: readonly Mutant[] = [...TOLD, ...ASKED, ...CONNECTIONS];
