import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { paced } from './packages/testkit/src/pace.js';
import { planted } from './verification/mutants/src/planted.js';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// Tests run against the sources. The names of the packages lead there too: otherwise a class that
// comes from `../src` and the same class seen through the testkit would be two.
const alias = {
  'holdfast-trials': here('verification/trials/src'),
  'holdfast-checker': here('verification/checker/src/index.ts'),
  'holdfast-testkit': here('packages/testkit/src/index.ts'),
  'holdfast-postgres': here('packages/postgres/src/index.ts'),
  'holdfast-sqlite': here('packages/sqlite/src/index.ts'),
  'holdfast-etcd': here('packages/etcd/src/index.ts'),
  'holdfast-dashboard': here('packages/dashboard/src/index.ts'),
  'holdfast-otel': here('packages/otel/src/index.ts'),
  'holdfast/register/contract': here('packages/holdfast/src/register-contract.ts'),
  'holdfast/register': here('packages/holdfast/src/register.ts'),
  holdfast: here('packages/holdfast/src/index.ts'),
};

/**
 * Files at a time of the tests that start servers. They mostly wait, so more files than cores. The
 * tests that need a core for themselves run before them, while the computing tests, which have
 * a low priority, use the rest of the processor.
 */
const WORKERS = 4;

/** Each test runs several times, see the file. */
const repeated =
  process.env['HOLDFAST_REPEATS'] === undefined
    ? {}
    : { runner: here('packages/testkit/src/repeating-runner.ts') };

const globalSetup = here('packages/testkit/src/vitest-global.ts');

/**
 * For tests that compute. No promise about speed: `npm test` runs them at a low priority, and on a
 * busy machine they wait for the tests that use servers.
 */
const COMPUTING_MS = paced(300_000);
const INSTRUMENT_MS = 4 * COMPUTING_MS;

/** A test that hangs is found after this time, or later on a busy machine. */
const limits = { testTimeout: paced(60_000), hookTimeout: paced(120_000) };

const servers = {
  // The files of a worker share their modules: loading them for each file takes a quarter of the
  // processor time of these tests.
  isolate: false,
  globalSetup: existsSync(globalSetup) ? [globalSetup] : [],
  ...limits,
};

/** Tests that need a core for themselves: they measure times, or load it on purpose. */
const ALONE = [
  'packages/holdfast/test/server/{deadlines,trials.{exclusion,loss,lost-replies,waiters}}*.test.ts',
  'packages/holdfast/test/server/{trials.takeover,quorum.faults}.test.ts',
  'packages/cli/test/server/{deadlines,plan}.test.ts',
];
/** Tests that run for long, or start many programs. They do not measure the times of others. */
const LONG = [
  'packages/{holdfast,cli}/test/packed/*.test.ts',
  'packages/dashboard/test/browser/*.test.ts',
  'packages/cli/test/server/failover.test.ts',
  'packages/sqlite/test/server/node-sqlite.test.ts',
  'packages/holdfast/test/server/{*.failover,demo,quorum.suites,torture,*.crash}.test.ts',
  'packages/holdfast/test/server/trials.{leaks,lost-servers,many-holders,sharing}.test.ts',
  'bench/test/*.test.ts',
];

/** Suites in memory that use the real clock: work at a low priority would come too late. */
const REAL_TIME = ['packages/holdfast/test/unit/{register.suites,quorum.suites}.test.ts'];

/**
 * The files that run for half a minute or more start before the others, so that no worker is left
 * alone with one of them at the end. First those whose waits have fixed lengths: the limits of the
 * suites follow the load of the machine, which is high until the computing tests have ended.
 */
const SLOW = [
  'bench/test/bench.test.ts',
  'server/torture.test.ts',
  'server/demo.test.ts',
  'holdfast/test/packed/packed.test.ts',
  'server/trials.leaks.test.ts',
  'server/differential.faults.test.ts',
  'server/trials.disturbed-cluster.test.ts',
  'server/trials.disturbed-sentinel.test.ts',
  'server/trials.sharding-proxy.test.ts',
  'server/leases.test.ts',
  'server/node-sqlite.test.ts',
  'server/quorum.suites.test.ts',
  'server/postgres.suites.test.ts',
  'server/etcd.suites.test.ts',
  'server/cluster.suites.test.ts',
  'unit/quorum.suites.test.ts',
  'unit/register.suites.test.ts',
  'server/sqlite.suites.test.ts',
  'server/silent-connections.test.ts',
  'server/server-errors.test.ts',
  'server/cluster.failover.test.ts',
  'server/differential.test.ts',
  'server/outage.test.ts',
  'server/replicas.test.ts',
  'server/cluster.test.ts',
  'server/passwords.test.ts',
  'server/servers.test.ts',
  'server/old-server.test.ts',
  'server/blocked-client.test.ts',
  'server/inspection.test.ts',
  'server/loss.differential.test.ts',
  'cli/test/server/run.test.ts',
  'server/guard.test.ts',
  'server/closing.test.ts',
  'server/mutex.test.ts',
  'server/clients.exit.test.ts',
  'server/dead-waiters.test.ts',
  'server/process.test.ts',
  'server/condition.test.ts',
  'server/services.test.ts',
  'server/sentinel.suites.test.ts',
  'server/gate.differential.test.ts',
  'server/schedule.test.ts',
  'server/look.test.ts',
  'server/burst.test.ts',
  'server/trials.changed-masters.test.ts',
  'server/sentinel.failover.test.ts',
  'server/owners.test.ts',
  'server/all-of.test.ts',
  'server/rw-lock.test.ts',
  'server/glide.suites.test.ts',
];

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = SLOW.findIndex((name) => moduleId.endsWith(name));
      return place === -1 ? SLOW.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  resolve: { alias },
  plugins: planted(),
  test: {
    sequence: { sequencer: SlowFirst },
    ...repeated,
    // not the second of vitest, which passes on a busy machine
    expect: { poll: { timeout: paced(20_000) } },
    // The list of failures at the end of `npm test` has only the message of an assertion, so the
    // message shows the compared values in full.
    chaiConfig: { truncateThreshold: 0 },
    setupFiles: ['assertions', 'preload', 'warnings', 'fresh-pace'].map((name) =>
      here(`packages/holdfast/test/support/${name}.ts`),
    ),
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/holdfast/test/**/*.test.ts',
            'packages/{cli,dashboard,otel,postgres,sqlite,etcd}/test/unit/**/*.test.ts',
            'examples/test/**/*.test.ts',
            'verification/checker/test/**/*.test.ts',
            'bench/test/rules/*.test.ts',
          ],
          exclude: ['packages/holdfast/test/{server,packed}/**', ...REAL_TIME],
          restoreMocks: true,
          // The files share their modules: loading them for each file takes longer than the tests.
          isolate: false,
          pool: 'threads',
          testTimeout: COMPUTING_MS,
          hookTimeout: COMPUTING_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'realtime',
          include: REAL_TIME,
          ...limits,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          // The instruments themselves: they take a minute, so `npm run check` leaves them out.
          name: 'instruments',
          include: ['verification/{sim,mutants,torture,trials}/test/**/*.test.ts'],
          testTimeout: INSTRUMENT_MS,
          hookTimeout: INSTRUMENT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'server',
          include: [
            'packages/holdfast/test/server/**/*.test.ts',
            'packages/{cli,otel,postgres,sqlite,etcd}/test/server/**/*.test.ts',
            'packages/testkit/test/**/*.test.ts',
          ],
          exclude: [...ALONE, ...LONG],
          ...servers,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: LONG,
          ...servers,
          maxWorkers: WORKERS,
          maxConcurrency: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ALONE,
          ...servers,
          maxWorkers: 2,
          maxConcurrency: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
