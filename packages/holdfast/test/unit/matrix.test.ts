/**
 * No combination of suite, store, client and server is missing.
 *
 * The test reads what vitest itself collects from the files. It detects a suite that is not called,
 * an omitted backend, and a test that is missing on one backend.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Clients, REGISTRATIONS } from '../support/registrations.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const suitesFolder = fileURLToPath(new URL('../suites/', import.meta.url));

const named = (...clients: Clients[]): string[] =>
  REGISTRATIONS.filter((one) => clients.includes(one.clients)).map(({ name }) => name);
/** With each client on one of the servers. */
const SUITES = named('all');
/** Only on the newest clients. */
const FEW = named('newest');
/** Each client on each server, with each version of the protocol. */
const CROSSED = named('combinations');
// Written out: names computed from the backends would have the same gaps as the backends.
const EACH_ONCE = [
  ...['ioredis-5 on redis', 'ioredis-6 on valkey'],
  ...['node-redis-5 on valkey', 'node-redis-6 on redis'],
];
const NEWEST = ['ioredis-6 on valkey', 'node-redis-6 on redis'];
const COMBINATIONS = [
  ...['ioredis-5', 'ioredis-6', 'node-redis-5', 'node-redis-6'],
  ...['ioredis-6 RESP2', 'node-redis-5 RESP3', 'node-redis-6 RESP2'],
].flatMap((client) => [`${client} on redis`, `${client} on valkey`]);

const UNIT = [
  ...['mutex.memory', 'register.suites', 'quorum.suites'].map((file) => `unit/${file}`),
  ...['quorum', 'cluster', 'sentinel', 'glide', 'postgres', 'sqlite', 'etcd'].map(
    (name) => `server/${name}.suites`,
  ),
].map((file) => `packages/holdfast/test/${file}.test.ts`);

/** Other stores and deployments; their processes have no suite of their own. */
const OTHERS = [
  ...['register in memory', 'quorum in memory', 'quorum of 3', 'postgres', 'sqlite', 'etcd'],
  ...['cluster of redis', 'sentinels'],
];

/** A client with its own file, of a few suites. */
const GLIDE_CLUSTER = 'glide on a cluster of valkey';
const GLIDE = [
  ...REGISTRATIONS.filter(({ glide }) => glide).map(({ name }) => `${name} / glide on valkey`),
  `mutex / ${GLIDE_CLUSTER}`,
];

const EXPECTED: readonly string[] = [
  ...SUITES.flatMap((suite) =>
    ['memory', ...OTHERS, ...EACH_ONCE].map((backend) => `${suite} / ${backend}`),
  ),
  ...FEW.flatMap((suite) =>
    ['memory', ...OTHERS, ...NEWEST].map((backend) => `${suite} / ${backend}`),
  ),
  ...CROSSED.flatMap((suite) =>
    ['memory', ...OTHERS, ...COMBINATIONS].map((backend) => `${suite} / ${backend}`),
  ),
  ...GLIDE,
];

/** Tests that need a server, by the beginnings of their names. */
const SERVER_ONLY = [
  'server faults > ',
  'fences > grow over SCRIPT FLUSH',
  'fences > grow over FLUSHALL',
  'fences > grow over the deletion',
  'fences > grow over a restart',
  'a process > that does not close',
  'a process > hands its lock over',
  'a process > lets its work end',
];

/** Stores that another process makes from a package, and their tests. */
const IN_PACKAGES = /\/ (postgres|sqlite|etcd)$/;
const WITH_PACKAGE = 'a program without close > ';

/** The names of all suite tests that vitest collects. Only these names contain ` / `. */
function collect(): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-matrix-'));
  try {
    const output = join(folder, 'tests.json');
    const files = [...SUITES, ...FEW, ...CROSSED].map(
      (suite) => `packages/holdfast/test/server/${suite}.test.ts`,
    );
    const all = [...files, ...UNIT];
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const env = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'));
    // the tests are only collected, so the files may share their modules: a third of the time
    const shared = ['--no-isolate', '--pool=threads', '--no-file-parallelism'];
    execFileSync(process.execPath, [vitest, 'list', ...all, ...shared, `--json=${output}`], {
      cwd: root,
      // otherwise only a few of the suites on Sentinel are collected
      env: { ...Object.fromEntries(env), HOLDFAST_SENTINEL: 'valkey' },
      stdio: 'pipe',
    });
    const tests = JSON.parse(readFileSync(output, 'utf8')) as { name: string }[];
    return tests.map(({ name }) => name).filter((name) => /^[\w-]+ \/ /.test(name));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Missing combinations, and tests that one backend of a suite lacks. */
function gaps(names: readonly string[]): string[] {
  const tests = new Map<string, Set<string>>();
  for (const name of names) {
    const end = name.indexOf(' > ');
    const combination = name.slice(0, end);
    const own = tests.get(combination) ?? new Set();
    tests.set(combination, own.add(name.slice(end + 3)));
  }
  const found: string[] = EXPECTED.filter((combination) => !tests.has(combination));
  for (const [combination, own] of tests) {
    const suite = combination.split(' / ')[0] as string;
    const elsewhere = [...OTHERS, GLIDE_CLUSTER].some((name) => combination.endsWith(name));
    const memory = combination.endsWith('memory') || elsewhere;
    for (const [other, theirs] of tests) {
      if (!other.startsWith(`${suite} / `)) continue;
      for (const test of theirs) {
        const needsPackage = test.startsWith(WITH_PACKAGE) && !IN_PACKAGES.test(combination);
        const here = needsPackage || (elsewhere && test.startsWith('a process > '));
        const excused = here || (memory && SERVER_ONLY.some((start) => test.startsWith(start)));
        if (!own.has(test) && !excused) found.push(`${combination}: ${test}`);
      }
    }
  }
  return [...new Set(found)];
}

describe('the matrix', () => {
  let names: string[] = [];
  beforeAll(() => {
    names = collect();
  });

  it('has every suite on every backend, each with the same tests', () => {
    expect(gaps(names)).toEqual([]);
    expect(new Set(names.map((name) => name.slice(0, name.indexOf(' > '))))).toEqual(
      new Set(EXPECTED),
    );
  });

  it('has every suite of the folder', () => {
    const found = readdirSync(suitesFolder).filter((file) =>
      /^export function \w+Suite\(/m.test(readFileSync(join(suitesFolder, file), 'utf8')),
    );
    expect(found.sort()).toEqual(
      [...SUITES, ...FEW, ...CROSSED].map((suite) => `${suite}.ts`).sort(),
    );
  });

  it('is incomplete if a combination is missing', () => {
    for (const combination of EXPECTED) {
      const without = names.filter((name) => !name.startsWith(`${combination} > `));
      expect(without.length).toBeLessThan(names.length);
      expect(gaps(without)).toContain(combination);
    }
  });

  it('is incomplete if a test of a backend is missing', () => {
    for (const backend of ['memory', 'node-redis-6 on valkey']) {
      const own = names.filter((name) => name.startsWith(`mutex / ${backend} > `));
      expect(own.length).toBeGreaterThan(20);
      for (const one of own) {
        expect(gaps(names.filter((name) => name !== one))).toEqual([one.replace(' > ', ': ')]);
      }
    }
  });
});
