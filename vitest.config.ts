import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// Tests run against the sources. The names of the packages lead there too: otherwise a class that
// comes from `../src` and the same class seen through the testkit would be two.
const alias = {
  'holdfast-trials': here('verification/trials/src'),
  'holdfast-checker': here('verification/checker/src/index.ts'),
  'holdfast-testkit': here('packages/testkit/src/index.ts'),
  holdfast: here('packages/holdfast/src/index.ts'),
};

const globalSetup = here('packages/testkit/src/vitest-global.ts');

const servers = {
  globalSetup: existsSync(globalSetup) ? [globalSetup] : [],
  testTimeout: 30_000,
  hookTimeout: 60_000,
};

/** Tests that need the machine for themselves. */
const LOAD = [
  'packages/holdfast/test/server/{trials,torture,deadlines,demo}*.test.ts',
  'packages/holdfast/test/server/*.crash.test.ts',
  'bench/test/*.test.ts',
];

export default defineConfig({
  resolve: { alias },
  test: {
    setupFiles: ['assertions', 'warnings'].map((name) =>
      here(`packages/holdfast/test/support/${name}.ts`),
    ),
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/holdfast/test/**/*.test.ts',
            'examples/test/**/*.test.ts',
            'verification/checker/test/**/*.test.ts',
            'bench/test/rules/*.test.ts',
          ],
          exclude: ['packages/holdfast/test/server/**'],
          restoreMocks: true,
        },
      },
      {
        extends: true,
        test: {
          // The instruments themselves: they take a minute, so `npm run check` leaves them out.
          name: 'instruments',
          include: ['verification/{sim,mutants,torture,trials}/test/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'server',
          // These start real servers. They wait for states and load nothing, so two files at a time
          // share the machine.
          include: [
            'packages/holdfast/test/server/**/*.test.ts',
            'packages/testkit/test/**/*.test.ts',
          ],
          exclude: LOAD,
          ...servers,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'load',
          // These load the machine on purpose, or hold leases of a few hundred milliseconds, which
          // such a load would end. One file runs at a time.
          include: LOAD,
          ...servers,
          maxWorkers: 1,
          maxConcurrency: 3,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
