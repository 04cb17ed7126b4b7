/** Mistakes that later hostile readings found. Named tests find them; see `holes.md`. */
import type { Edit, Mutant, PackageName } from '../mutant.js';

/** One edit, and the test that fails with it. */
function mutant(
  name: string,
  mistake: string,
  elsewhere: string,
  [file, find, replace]: readonly [string, string, string],
  of?: PackageName,
): Mutant {
  const edit: Edit = { file, find, replace };
  return { name, mistake, elsewhere, edits: [of === undefined ? edit : { ...edit, of }] };
}

/** What a program is told. */
const TOLD: readonly Mutant[] = [
  mutant(
    'a loss that a look finds stays',
    'a lease whose end a look at its signal found is counted as held for ever',
    'unit/lease/end-at-a-look.test.ts',
    ['lease/watchdog.js', "if (hold.state === 'lost')", 'if (false)'],
  ),
  mutant(
    'an unused semaphore has its old number',
    '`available` and `drain` know the permits of a semaphore that is not in use any more',
    'unit/true-answers.test.ts',
    ['primitives/semaphore.js', 'state.used > 0 ? known : this.permits', 'known'],
  ),
  mutant(
    'a place among the first thousand',
    '`place()` is null behind more than 1,000 waiters',
    'unit/true-answers.test.ts',
    ['primitives/lock-state.js', 'waiterCount > SHOWN_MAX', 'false'],
  ),
  mutant(
    'a look that may fail once',
    '`whenFree` and `whenPermits` reject after one request without an answer',
    'unit/true-answers.test.ts',
    [
      'primitives/lock-state.js',
      'Math.min(until, answered + settings.unreachableAfter)',
      'answered',
    ],
  ),
  mutant(
    'a read that hears no abort',
    'while a server is silent, an abort or a close is heard late, or told as an outage',
    'unit/ends-at-once.test.ts',
    [
      'primitives/lock-state.js',
      'return unlessAborted({ signal }, closed, key);',
      'return call();',
    ],
  ),
  mutant(
    'a marker counts as a lock',
    'a forced release that waits publishes an acquisition of its marker',
    'unit/telemetry.test.ts',
    ['observe/telemetry.js', 'if (!key.includes(MARK))', 'if (true)'],
  ),
  mutant(
    'an adopted lease lost in secret',
    'several leases that ended during their adoption have a signal that never aborts',
    'unit/handed-over.test.ts',
    ['handover.js', 'if (signal.aborted)', 'if (false)'],
  ),
  mutant(
    'a forced release that is heard late',
    'the check of lasting leases runs once in a claim window, whenever a lease was granted',
    'unit/forced-release.test.ts',
    ['lease/lasting.js', 'next = Math.min(next, left);', ''],
  ),
];

/** What a program asks for. */
const ASKED: readonly Mutant[] = [
  mutant(
    'inherited options are ignored',
    'the options of an object with a getter in its class have no effect',
    'unit/inherited-options.test.ts',
    ['base/checks.js', 'if (inherited !== undefined)', 'if (false)'],
  ),
  mutant(
    'a lease of another kind at a condition',
    'a lease of a read-write lock or a semaphore of the same key is parked, and ends',
    'unit/false-losses.test.ts',
    ['primitives/condition.js', 'if (!isMutex)', 'if (false)'],
  ),
  mutant(
    'the adopted number limits a larger request',
    'after a smaller number of permits was adopted, a request above it is never granted',
    'unit/register.suites.test.ts: grants them once none is',
    [
      'primitives/semaphore.js',
      '[this.permits, this.#permits].find((permits) => permits >= weight)',
      'this.#permits',
    ],
  ),
  mutant(
    'the time of a slow reply is not kept',
    'two runs of a schedule start less than `atLeast` apart',
    'unit/scheduled-starts.test.ts',
    ['primitives/kept-lease.js', 'while (took > spare)', 'while (false)'],
  ),
  mutant(
    'timers in the context of their task',
    '`onLost` enters a reentrant mutex beside the task that holds it',
    'unit/contexts.test.ts',
    ['base/clock.js', 'AsyncLocalStorage.snapshot()', '(work) => work()'],
  ),
  mutant(
    'a release that lets Node end',
    'a program ends silently in the middle of a release that was not answered',
    'unit/cleanup/release-retrier.test.ts',
    ['acquire/cleanup/release-retrier.js', 'return isTold;', 'return true;'],
  ),
];

/** What clients and servers do. */
const CONNECTIONS: readonly Mutant[] = [
  mutant(
    'texts of a stranger without a bound',
    'a user who may only publish fills the memory of each process of a quorum',
    'unit/store/quorum-channel.test.ts',
    ['store/quorum/quorum-channel.js', ' && this.#length <= LENGTH_MAX', ''],
  ),
  mutant(
    'an end of the connection is another reply',
    'an error reply before the end of its connection accuses the client',
    'unit/store/proven-port.test.ts',
    ['store/redis/proven-port.js', 'if (!port.isReply(second))', 'if (false)'],
  ),
  mutant(
    'a full server refuses each lock',
    '"max number of clients" in reply to the handshake is told as a refusal of each call',
    'unit/clients.test.ts',
    ['store/clients/errors.js', '|ERR max number of clients', ''],
  ),
  mutant(
    'an outage behind a proxy is a refusal',
    'a proxy tells an outage as an error reply, and calls reject for good',
    'unit/store/error-replies.test.ts',
    ['store/clients/errors.js', ' || OUTAGE.test(message)', ''],
  ),
  mutant(
    'a listener stays on the client',
    'each instance that was closed leaves a listener of errors on the client',
    'unit/client-listeners.test.ts',
    ['store/lazy-store.js', 'watchErrors(client, -1)', 'void client'],
  ),
  mutant(
    'time behind the file',
    'on SQLite a wall clock that was behind at the first use makes fences go back',
    'sqlite/test/unit/upkeep.test.ts',
    ['boot-clock.js', 'Math.max(wall(), latest)', 'wall()'],
    'sqlite',
  ),
  mutant(
    'a link to a network file system',
    'on SQLite a link to a file on NFS passes the check of the place',
    'sqlite/test/unit/rules.test.ts',
    ['place.js', 'existsSync(path) ? path : dirname(path)', 'dirname(path)'],
    'sqlite',
  ),
  mutant(
    'the change that crosses the quota',
    'on etcd a change that was made counts as not executed',
    'etcd/test/unit/rules.test.ts',
    ['failures.js', "return { kind: 'unanswered' };", "return { kind: 'transient' };"],
    'etcd',
  ),
  mutant(
    'a lost race is an outage',
    'on PostgreSQL with another default isolation a swap that lost its race fails',
    'postgres/test/unit/register.test.ts',
    ['failures.js', "new Set(['40001', ", 'new Set(['],
    'postgres',
  ),
];

export const HOSTILE: readonly Mutant[] = [...TOLD, ...ASKED, ...CONNECTIONS];
