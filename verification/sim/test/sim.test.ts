/**
 * The simulator in the test suite: a fixed set of seeds, a case for each bug of this library, and
 * planted faults, which it must find. It runs the compiled code.
 */
import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EXCEPTIONS, notDrawn } from './drawn.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const cases = join(root, 'verification/sim/cases');

/** All seeds in which `mutants.test.ts` looks for a mutant pass with the unchanged library. */
const SEEDS = 60;

interface Ended {
  readonly passed: boolean;
  readonly output: string;
}

function simulate(args: readonly string[], dist?: string): Promise<Ended> {
  const env = { ...process.env, ...(dist === undefined ? {} : { HOLDFAST_DIST: dist }) };
  const options = { cwd: root, env, maxBuffer: 1 << 28 };
  return new Promise((resolve) => {
    execFile(
      'node',
      ['verification/sim/dist/main.js', ...args],
      options,
      (error, stdout, stderr) => {
        resolve({ passed: error === null, output: stdout + stderr });
      },
    );
  });
}

/** A change of one line of the compiled library. */
interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

interface Fault extends Edit {
  /** Edits that remove code that would hide the fault. */
  readonly and?: Edit;
  /** A case file, or arguments. */
  readonly shown: string | readonly string[];
  /** With a case file: the first random seed; a thousand are tried. Default: 1. */
  readonly luck?: number;
  /** The kind of violation that must be reported. */
  readonly as: RegExp;
}

/** From a seed that shows the fault; after a change of the library, a later one shows it. */
const few = (from: number): string[] => ['--seeds', '80', '--failures', '1', '--from', `${from}`];

const FAULTS: Readonly<Record<string, Fault>> = {
  'does not detect a suspend': {
    file: 'lease/local-time.js',
    from: '(moved > SLEEP_MS)',
    to: '(false)',
    shown: 'push-from-before-sleep.json',
    as: /belief/,
  },
  'takes the seat of a waiter for a computation': {
    file: 'primitives/flight.js',
    from: 'return queued ? null :',
    to: 'return true ? null :',
    shown: ['--draw', 'flights', ...few(6)],
    as: /flight flight\d: .* there was none/,
  },
  'polls for a flight whose caller gave up in the same step': {
    file: 'acquire/acquisitions.js',
    from: 'acquisition.moved();',
    to: 'acquisition.moved(); if (acquisition.settled) return true;',
    shown: ['--draw', 'flights', ...few(40)],
    as: /timer/,
  },
  'hands a read-write lease over with the side that the store may have': {
    file: 'handover.js',
    from: 'lease instanceof RwLease ? lease.side : ',
    to: '',
    shown: ['--draw', 'heirs', ...few(7)],
    as: /belief heirs/,
  },
  'ends a doubt without the fence': {
    file: 'lease/root.js',
    from: 'return this.doubted && this.mayBeDuplicated;',
    to: 'return false;',
    shown: 'late-copy-after-suspend.json',
    as: /belief/,
  },
  'ignores the drift of clocks while it waits': {
    file: 'acquire/acquisition.js',
    from: 'Math.abs(since) * DRIFT',
    to: '0',
    and: {
      file: 'acquire/pushes.js',
      from: 'now - suspend.toLocal(acquisition.sent, moment) > beliefMs(claimWindow)',
      to: 'false',
    },
    shown: 'drift-while-waiting.json',
    as: /belief/,
  },
  'keeps the leases of late duplicates': {
    file: 'acquire/cleanup/late-duplicates.js',
    from: 'if (this.#stopped || ',
    to: 'if (true || ',
    luck: 22,
    shown: 'late-copy.json',
    as: /ghost/,
  },
  'keeps a retry timer after close': {
    file: 'acquire/cleanup/release-retrier.js',
    from: ' pause?.wake();',
    to: ';',
    shown: 'close-between-tries.json',
    as: /timer/,
  },
  'unlocks a hold whose lock call has no reply yet': {
    file: 'primitives/owner-locks.js',
    from: 'lease.ids.filter((one) => this.#mayEnd(one))',
    to: 'lease.ids',
    luck: 34,
    shown: 'hold-without-a-reply.json',
    as: /stuck/,
  },
  'keeps the timer of a root that has ended': {
    file: 'acquire/root-queue.js',
    from: 'this.timer?.cancel();',
    to: ';',
    shown: 'timer-of-an-ended-root.json',
    as: /timer/,
  },
  'withdraws a lease that was handed over after a local hand-off': {
    file: 'acquire/acquisitions.js',
    from: "acquisition.hold?.root.hold.state === 'left'",
    to: "acquisition.hold?.state === 'left'",
    luck: 139,
    shown: 'late-reply-after-hand-over.json',
    as: /belief/,
  },
  'forgets the place of fair tasks that ask again': {
    file: 'acquire/acquire-sender.js',
    from: 'acquisition.ticket === 0 ? (queue?.ticket ?? 0) : acquisition.ticket',
    to: 'acquisition.ticket',
    shown: ['--seed', '13006068'],
    as: /order/,
  },
  'withdraws an acquisition for no longer than a lease': {
    file: 'acquire/cleanup/abandoned.js',
    from: 'Math.max(ttl, this.#settings.retention)',
    to: 'ttl',
    shown: 'withdrawal-given-up.json',
    as: /ghost/,
  },
  'closes a channel while a request uses it': {
    file: 'store/wake-channel.js',
    from: 'if (this.#naming === 0)',
    to: 'if (true)',
    luck: 62,
    shown: 'channel-closed-while-named.json',
    as: /order/,
  },
  'counts fences instead of using the clock': {
    file: 'engine/resource.js',
    from: 'const fence = Math.max(this.fence + 1, now)',
    to: 'const fence = this.fence + 1',
    shown: few(1),
    as: /fence/,
  },
  'starts a lease at the reply': {
    file: 'acquire/acquisitions.js',
    from: 'const validUntil = sentAt + left - drift(left);',
    to: 'const validUntil = this.#clock.now() + left - drift(left);',
    shown: few(2),
    as: /belief/,
  },
  'does not withdraw abandoned acquisitions': {
    file: 'acquire/cleanup/release-retrier.js',
    from: 'release(what) {',
    to: "release(what) { if (!what.ended) return Promise.resolve({ status: 'freed' });",
    shown: few(2),
    as: /ghost|orphan/,
  },
  'never polls its place in the queue': {
    file: 'acquire/poll-queues.js',
    from: '    async #pollAll(queue) {',
    to: '    async #pollAll(queue) { return;',
    shown: few(1),
    as: /idle|stuck/,
  },
  'wakes no condition waiter with a signal': {
    file: 'engine/signals.js',
    from: 'looked < SIGNAL_LIMIT',
    to: 'looked < 0',
    and: {
      file: 'engine/condition.js',
      from: 'left: resource.parking.count(condition)',
      to: 'left: 0',
    },
    shown: few(19),
    as: /unwoken|stuck stock/,
  },
  'counts a late duplicate of an arrival': {
    file: 'engine/gates.js',
    from: 'if (!gate.arrivals.has(id))',
    to: 'if (true)',
    shown: few(35),
    as: /barrier|latch/,
  },
  'verifies each lease with a request of its own after a step of the wall clock': {
    file: 'lease/schedule.js',
    from: 'if (!doubted && !whole)',
    to: 'if (doubted || !whole)',
    shown: ['--draw', 'steps', '--seed', '1'],
    as: /questions/,
  },
  'ends leases at a step of the wall clock': {
    file: 'lease/watchdog.js',
    from: 'for (const root of this.#roots.all()) {',
    to: "for (const root of this.#roots.all()) { this.lose(root.hold, 'expired');",
    shown: ['--draw', 'steps', '--seed', '1'],
    as: /lapsed/,
  },
  'follows each slow reply with releases': {
    file: 'acquire/acquisition.js',
    from: 'replyDelay.took(now.at - sent.at, now.at) && !isSame',
    to: 'replyDelay.took(now.at - sent.at, now.at)',
    shown: ['--draw', 'overload', '--seed', '37'],
    as: /feeds/,
  },
  'never asks again at a gate with many others': {
    file: 'primitives/gates/gate-queue.js',
    from: 'Math.min(WINDOWS_MAX,',
    to: 'Math.max(1e6,',
    shown: ['--draw', 'gates', ...few(4)],
    as: /stuck/,
  },
  'asks in each claim window at a gate with many others': {
    file: 'primitives/gates/gate-queue.js',
    from: 'windows <= 1 ?',
    to: 'windows <= 1e6 ?',
    shown: ['--draw', 'gates', ...few(4)],
    as: /polls/,
  },
  'says that a lock is taken for which it has not asked': {
    file: 'acquire/call.js',
    from: 'if (via.unsent)',
    to: 'if (false)',
    shown: ['--draw', 'bursts', ...few(1)],
    as: /blames/,
  },
  'sends a release before an acquisition of its key that waits': {
    file: 'store/backlog.js',
    from: 'Math.max(rank, this.waiting.get(key)?.rank ?? rank)',
    to: 'rank',
    shown: ['--draw', 'bursts', ...few(19)],
    as: /stuck/,
  },
  'keeps no arrival at a barrier alive': {
    file: 'primitives/gates/gate-waiters.js',
    from: 'rank }) => rank >= 0',
    to: 'rank }) => rank > 1e9',
    shown: ['--draw', 'gates', '--seed', '5'],
    as: /is broken/,
  },
  'polls a slow server as often as a fast one': {
    file: 'acquire/reply-delay.js',
    from: 'const FACTOR_MAX = 4;',
    to: 'const FACTOR_MAX = 1;',
    shown: ['--draw', 'overload', '--seed', '37'],
    as: /feeds/,
  },
  'confirms a forced release that no holder has confirmed': {
    file: 'primitives/force-release.js',
    from: 'ended.length === 0 || (await this.#confirmed(ended))',
    to: 'true',
    shown: few(23),
    as: /forced/,
  },
  'believes replies without proof': {
    file: 'store/redis/proven-port.js',
    from: 'raw.length === 2 && raw[0] === proof)',
    to: 'raw.length === 2)',
    shown: few(199),
    as: /belief|exclusion/,
  },
  'grants one permit too many': {
    file: 'engine/resource.js',
    from: 'this.used + weight <= this.capacity',
    to: 'this.used + weight <= this.capacity + 1',
    shown: few(1),
    as: /exclusion/,
  },
};

/** A copy of the compiled library with a fault. */
function planted(name: string, fault: Fault): string {
  const dist = join(root, '.cache/sim', name.replaceAll(' ', '-'));
  rmSync(dist, { recursive: true, force: true });
  const isNeeded = (path: string): boolean => path.endsWith('.js') || extname(path) === '';
  cpSync(join(root, 'packages/holdfast/dist'), dist, { recursive: true, filter: isNeeded });
  for (const { file, from, to } of fault.and === undefined ? [fault] : [fault, fault.and]) {
    const path = join(dist, file);
    const text = readFileSync(path, 'utf8');
    expect(text.split(from), `${file}: ${from}`).toHaveLength(2);
    writeFileSync(path, text.split(from).join(to));
  }
  return dist;
}

describe('the simulator', () => {
  it('finds no violation in a fixed set of seeds', async () => {
    const file = join(root, '.cache/sim-calls.json');
    const { passed, output } = await simulate(['--seeds', `${SEEDS}`, '--calls', file]);
    expect(output).toContain('0 violations');
    expect(passed).toBe(true);
    // they use each public method and option, except for those of the list
    const report = readFileSync(join(root, 'packages/holdfast/etc/holdfast.api.md'), 'utf8');
    const calls = JSON.parse(readFileSync(file, 'utf8')) as string[];
    const missing = notDrawn(report, calls);
    const isListed = (name: string): boolean => EXCEPTIONS.some(([names]) => names.test(name));
    expect(missing.filter((name) => !isListed(name))).toEqual([]);
    const stale = EXCEPTIONS.filter(([names]) => !missing.some((name) => names.test(name)));
    expect(stale).toEqual([]);
    // controls: a new method, a new option, and a method that is not drawn any more
    const more = report.replace(
      /^export class Lease .*\{$/m,
      '$&\n    renewNow(options?: CallOptions): Promise<void>;\n    get age(): number;',
    );
    expect(notDrawn(more, calls).filter((name) => !isListed(name))).toEqual([
      ...['Lease.renewNow', 'Lease.age'],
    ]);
    const fewer = calls.filter((name) => !name.endsWith('.stopRenewal'));
    expect(notDrawn(report, fewer)).toContain('Lease.stopRenewal');
  });

  it.each([
    ['steps', 3],
    ['overload', 3],
    ['gates', 4],
    ['bursts', 10],
    ['flights', 10],
    ['heirs', 10],
  ])('finds no violation in plans of the sort %s', async (sort, seeds) => {
    const { passed, output } = await simulate(['--draw', sort, '--seeds', `${seeds}`]);
    expect(output).toContain('0 violations');
    expect(passed).toBe(true);
  });

  it('runs a seed the same way each time', async () => {
    for (const seed of ['7', '8']) {
      const first = await simulate(['--seed', seed, '--trace']);
      const second = await simulate(['--seed', seed, '--trace']);
      expect(first.output.length).toBeGreaterThan(10_000);
      expect(second.output).toBe(first.output);
    }
  });

  for (const file of readdirSync(cases)) {
    it(`finds no violation in ${file}`, async () => {
      const { passed, output } = await simulate(['--plan', join(cases, file)]);
      expect(passed, output).toBe(true);
    });
  }

  it('finds a broken invariant of the engine that no reply shows', async () => {
    const fault: Edit = {
      file: 'engine/resource.js',
      from: 'this.fairWaiting -= 1',
      to: 'this.fairWaiting -= 0',
    };
    const dist = planted('invariant', { ...fault, shown: [], as: /invariant/ });
    const { passed, output } = await simulate(few(1), dist);
    expect(passed).toBe(false);
    expect(output).toMatch(/: invariant \S+: fairWaiting is \d+/);
  });

  for (const [name, fault] of Object.entries(FAULTS)) {
    it(`finds a library that ${name}`, async () => {
      const { shown, luck = 1 } = fault;
      // the order of events depends on the library's messages: other random seeds show the fault
      const lucks = ['--lucks', '1000', '--from', `${luck}`];
      const plan = (file: string): string[] => ['--plan', join(cases, file), ...lucks];
      const args = typeof shown === 'string' ? plan(shown) : shown;
      // the simulator itself must find it, not the assertions of the engine
      const alone = [...args, '--ignore', 'invariant'];
      const { passed, output } = await simulate(alone, planted(name, fault));
      expect(passed).toBe(false);
      expect(output).toMatch(fault.as);
    });
  }
});
